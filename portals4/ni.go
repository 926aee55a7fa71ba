package portals4

import "github.com/ompi-go/ompi-go/internal/invariants"

// NI is a network interface of one flavour (ptl_handle_ni_t).
type NI struct {
	i       *Interface
	options NIOptions
	flavour uint8
	refs    int
	limits  Limits
	status  [statusRegisters]uint64

	pts       []*PT // by index
	entries   entryPool
	headers   headerPool
	mds       int
	cts       int
	eqs       int
	triggered int
	allEQs    []*EQ
	allCTs    []*CT

	mapped bool
	ranks  []int32 // logical: the job rank of each rank
	back   []int32 // logical: the rank of each job rank, -1 for none
	bundle int
	bound  []*MDHandle // all that ever were, for invariants
}

// most are the largest limits, and those of who wishes nothing.
var most = Limits{
	MaxEntries: 1 << 20, MaxUnexpectedHeaders: 1 << 20, MaxMDs: 1 << 16, MaxCTs: 1 << 16, MaxEQs: 1 << 14, MaxPTIndex: 255, MaxIovecs: 1 << 12, MaxListSize: 1 << 20,
	MaxTriggeredOps: 1 << 18, MaxMsgSize: 1 << 46, MaxAtomicSize: maxAtomic, MaxFetchAtomicSize: maxAtomic, MaxWAWOrderedSize: maxAtomic, MaxWAROrderedSize: maxAtomic,
	MaxVolatileSize: volatileMax, Features: TargetBindInaccessible | CoherentAtomics,
}

const (
	maxAtomic   = 16 << 10
	volatileMax = 4 << 10
	minPTIndex  = 63
)

// NI is PtlNIInit: one of the four flavours of the interface. The first call for a flavour makes it, with limits as near to desired as they go (nil: the
// largest); later ones give the same, and ignore pid and desired. PIDs are the ranks of the job, NIDs its nodes: pid is AnyPID or the caller's own rank.
func (i *Interface) NI(options NIOptions, pid uint32, desired *Limits) (*NI, error) {
	const op = "PtlNIInit"
	if i == nil {
		return nil, fail(op, ErrNoInit, "no interface")
	}
	if !i.held {
		i.engine.Lock()
		defer i.engine.Unlock()
	}
	if i.closed {
		return nil, fail(op, ErrNoInit, "the interface was closed")
	}
	match, addr := options&(Matching|NoMatching), options&(Logical|PhysicalAddresses)
	if match != Matching && match != NoMatching || addr != Logical && addr != PhysicalAddresses || options&^(Matching|NoMatching|Logical|PhysicalAddresses) != 0 {
		return nil, bad(op, "options %#x, must be one of Matching and NoMatching, and one of Logical and PhysicalAddresses", options)
	}
	f := uint8(0)
	if match == NoMatching {
		f |= 1
	}
	if addr == PhysicalAddresses {
		f |= 2
	}
	if ni := i.nis[f]; ni != nil && ni.refs > 0 {
		ni.refs++
		return ni, nil
	}
	if pid != AnyPID && pid != uint32(i.rank) {
		if pid < uint32(i.env.Job.Size()) {
			return nil, fail(op, ErrPIDInUse, "pid %d is that of another process", pid)
		}
		return nil, bad(op, "pid %d: pids are the ranks of the job, this process has %d", pid, i.rank)
	}
	ni := &NI{i: i, options: options, flavour: f, refs: 1, limits: most}
	ni.limits.MaxPTIndex = minPTIndex
	if desired != nil {
		ni.limits = within(*desired)
	}
	ni.pts = make([]*PT, ni.limits.MaxPTIndex+1)
	i.nis[f] = ni
	if invariants.On {
		i.every = append(i.every, ni)
	}
	return ni, nil
}

// within brings limits into the range that there is. Features are what there is.
func within(d Limits) Limits {
	small := func(v *int, least, most int) { *v = max(least, min(*v, most)) }
	big := func(v *uint64, least, most uint64) { *v = max(least, min(*v, most)) }
	small(&d.MaxEntries, 1, most.MaxEntries)
	small(&d.MaxUnexpectedHeaders, 1, most.MaxUnexpectedHeaders)
	small(&d.MaxMDs, 1, most.MaxMDs)
	small(&d.MaxCTs, 1, most.MaxCTs)
	small(&d.MaxEQs, 1, most.MaxEQs)
	small(&d.MaxPTIndex, minPTIndex, most.MaxPTIndex)
	small(&d.MaxIovecs, 1, most.MaxIovecs)
	small(&d.MaxListSize, 1, most.MaxListSize)
	small(&d.MaxTriggeredOps, 1, most.MaxTriggeredOps)
	big(&d.MaxMsgSize, 64, most.MaxMsgSize)
	big(&d.MaxAtomicSize, 64, most.MaxAtomicSize)
	big(&d.MaxFetchAtomicSize, 64, most.MaxFetchAtomicSize)
	big(&d.MaxWAWOrderedSize, 64, most.MaxWAWOrderedSize)
	big(&d.MaxWAROrderedSize, 8, most.MaxWAROrderedSize)
	big(&d.MaxVolatileSize, 8, most.MaxVolatileSize)
	d.Features = most.Features
	return d
}

// matching and logical tell the flavour.
func (ni *NI) matching() bool { return ni.flavour&1 == 0 }
func (ni *NI) logical() bool  { return ni.flavour&2 == 0 }

// Limits are those that hold (PtlNIInit's actual limits).
func (ni *NI) Limits() Limits { return ni.limits }

// Close is PtlNIFini: the last of as many as there were calls of Interface.NI ends everything of the NI.
func (ni *NI) Close() error {
	i, err := ni.enter("PtlNIFini")
	if err != nil {
		return err
	}
	defer i.leave()
	if ni.refs > 1 {
		ni.refs--
		return nil
	}
	ni.end()
	return nil
}

// end interrupts who waits, and forgets all entries. What is under way at the time ends without events.
func (ni *NI) end() {
	for _, q := range ni.allEQs {
		if !q.freed {
			q.end()
		}
	}
	for _, c := range ni.allCTs {
		if !c.freed {
			c.end()
		}
	}
	for _, pt := range ni.pts {
		if pt != nil {
			pt.enabled = false
		}
	}
	ni.i.forget(ni)
	ni.refs = 0
}

// Status is a status register (PtlNIStatus).
func (ni *NI) Status(r StatusRegister) (uint64, error) {
	i, err := ni.enter("PtlNIStatus")
	if err != nil {
		return 0, err
	}
	defer i.leave()
	if r < 0 || r >= statusRegisters {
		return 0, bad("PtlNIStatus", "there is no register %d", r)
	}
	return ni.status[r], nil
}

// SetMap gives the processes of the ranks (PtlSetMap): entry N is rank N. Of a logical NI, and before anything else is done with it.
func (ni *NI) SetMap(m []Process) error {
	const op = "PtlSetMap"
	i, err := ni.enter(op)
	if err != nil {
		return err
	}
	defer i.leave()
	if !ni.logical() {
		return bad(op, "a map is for logical interfaces")
	}
	if len(m) == 0 {
		return bad(op, "the map is empty")
	}
	ranks := make([]int32, len(m))
	for r, p := range m {
		j, ok := i.jobRank(p)
		if !ok {
			return bad(op, "rank %d: there is no process %d on node %d", r, p.PID, p.NID)
		}
		ranks[r] = int32(j)
	}
	ni.setMap(ranks)
	return nil
}

// SetJobMap is SetMap for the ranks of the job.
func (ni *NI) SetJobMap() error {
	i, err := ni.enter("PtlSetMap")
	if err != nil {
		return err
	}
	defer i.leave()
	if !ni.logical() {
		return bad("PtlSetMap", "a map is for logical interfaces")
	}
	ranks := make([]int32, len(i.links))
	for r := range ranks {
		ranks[r] = int32(r)
	}
	ni.setMap(ranks)
	return nil
}

func (ni *NI) setMap(ranks []int32) {
	ni.ranks, ni.mapped = ranks, true
	ni.back = make([]int32, len(ni.i.links))
	for j := range ni.back {
		ni.back[j] = -1
	}
	for r, j := range ranks {
		if ni.back[j] < 0 {
			ni.back[j] = int32(r)
		}
	}
}

// Map gives the processes of the ranks (PtlGetMap).
func (ni *NI) Map() ([]Process, error) {
	const op = "PtlGetMap"
	i, err := ni.enter(op)
	if err != nil {
		return nil, err
	}
	defer i.leave()
	if !ni.logical() {
		return nil, bad(op, "a map is for logical interfaces")
	}
	if !ni.mapped {
		return nil, fail(op, ErrNoSpace, "no map was set")
	}
	m := make([]Process, len(ni.ranks))
	for r, j := range ni.ranks {
		m[r] = i.physical(int(j))
	}
	return m, nil
}

// ID is this process as the NI names it: by rank or physically (PtlGetId).
func (ni *NI) ID() (Process, error) {
	i, err := ni.enter("PtlGetId")
	if err != nil {
		return Process{}, err
	}
	defer i.leave()
	if ni.logical() {
		if !ni.mapped || ni.back[i.rank] < 0 {
			return Process{}, bad("PtlGetId", "this process has no rank: SetMap comes first")
		}
		return Rank(int(ni.back[i.rank])), nil
	}
	return i.physical(i.rank), nil
}

// PhysID is this process's node and pid (PtlGetPhysId).
func (ni *NI) PhysID() (Process, error) {
	i, err := ni.enter("PtlGetPhysId")
	if err != nil {
		return Process{}, err
	}
	defer i.leave()
	return i.physical(i.rank), nil
}

// UID is the user id that peers see (PtlGetUid).
func (ni *NI) UID() (uint32, error) {
	i, err := ni.enter("PtlGetUid")
	if err != nil {
		return 0, err
	}
	defer i.leave()
	return i.uid, nil
}

// ProcessOf names a rank of the job as this NI does. The NI has its map; a process that is not in it has AnyRank.
func (ni *NI) ProcessOf(jobRank int) Process {
	if i := ni.i; !i.held {
		i.engine.Lock()
		defer i.engine.Unlock()
	}
	return ni.named(jobRank)
}

// named is the initiator of an operation, as events name it.
func (ni *NI) named(jobRank int) Process {
	if !ni.logical() {
		return ni.i.physical(jobRank)
	}
	if !ni.mapped || ni.back[jobRank] < 0 {
		return Process{AnyRank, AnyNID, AnyPID}
	}
	return Rank(int(ni.back[jobRank]))
}

// AtomicSync orders the host's access to memory with atomic operations (PtlAtomicSync). The token does.
func (ni *NI) AtomicSync() error {
	i, err := ni.enter("PtlAtomicSync")
	if err == nil {
		i.leave()
	}
	return err
}

// StartBundle and EndBundle are hints that operations between them go out together. They nest.
func (ni *NI) StartBundle() error {
	i, err := ni.enter("PtlStartBundle")
	if err != nil {
		return err
	}
	ni.bundle++
	i.leave()
	return nil
}

// EndBundle: see StartBundle.
func (ni *NI) EndBundle() error {
	i, err := ni.enter("PtlEndBundle")
	if err != nil {
		return err
	}
	defer i.leave()
	if ni.bundle == 0 {
		return bad("PtlEndBundle", "no bundle was started")
	}
	ni.bundle--
	return nil
}

// physical is the address of a rank of the job.
func (i *Interface) physical(jobRank int) Process {
	return Process{Rank: AnyRank, NID: i.nodes[jobRank], PID: uint32(jobRank)}
}

// jobRank finds the process of a physical address.
func (i *Interface) jobRank(p Process) (int, bool) {
	if p.PID >= uint32(len(i.nodes)) || i.nodes[p.PID] != p.NID {
		return 0, false
	}
	return int(p.PID), true
}

// route gives the job rank of a target.
func (ni *NI) route(op string, p Process) (int, error) {
	if ni.logical() {
		if !ni.mapped {
			return 0, fail(op, ErrNoInit, "a logical interface needs its map first (SetMap)")
		}
		if p.Rank >= uint32(len(ni.ranks)) {
			return 0, bad(op, "there is no rank %d, the map has %d", p.Rank, len(ni.ranks))
		}
		return int(ni.ranks[p.Rank]), nil
	}
	j, ok := ni.i.jobRank(p)
	if !ok {
		return 0, bad(op, "there is no process %d on node %d", p.PID, p.NID)
	}
	return j, nil
}
