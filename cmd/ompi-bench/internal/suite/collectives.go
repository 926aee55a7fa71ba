package suite

// Form says how a collective is called.
type Form int

const (
	// NotCollective is a test of something else.
	NotCollective Form = iota
	// Blocking is the plain call, such as bcast.
	Blocking
	// NonBlocking is started, computed beside and waited for, such as ibcast: the test tells how much of it hides behind the computation.
	NonBlocking
	// Persistent is prepared once, then started and waited for again and again, such as bcast_persistent.
	Persistent
)

// Collective is an operation of all ranks; each has a test for each form.
type Collective struct {
	Name string
	// Least is the first size in bytes: 1, or 4 where numbers are added up; 0 is an operation without data.
	Least int64
	// PerPeer says that a buffer has a block for every rank; else one block is all.
	PerPeer bool
	// Neighbours says that it works on a ring, with a block for each of the two neighbours.
	Neighbours bool
}

// Collectives lists the operations in the order of the standard.
func Collectives() []Collective {
	return []Collective{
		{Name: "barrier"},
		{Name: "bcast", Least: 1},
		{Name: "gather", Least: 1, PerPeer: true},
		{Name: "gatherv", Least: 1, PerPeer: true},
		{Name: "scatter", Least: 1, PerPeer: true},
		{Name: "scatterv", Least: 1, PerPeer: true},
		{Name: "allgather", Least: 1, PerPeer: true},
		{Name: "allgatherv", Least: 1, PerPeer: true},
		{Name: "alltoall", Least: 1, PerPeer: true},
		{Name: "alltoallv", Least: 1, PerPeer: true},
		{Name: "alltoallw", Least: 1, PerPeer: true},
		{Name: "reduce", Least: 4},
		{Name: "allreduce", Least: 4},
		{Name: "reduce_scatter_block", Least: 4, PerPeer: true},
		{Name: "reduce_scatter", Least: 4},
		{Name: "scan", Least: 4},
		{Name: "exscan", Least: 4},
		{Name: "neighbor_allgather", Least: 1, Neighbours: true},
		{Name: "neighbor_allgatherv", Least: 1, Neighbours: true},
		{Name: "neighbor_alltoall", Least: 1, Neighbours: true},
		{Name: "neighbor_alltoallv", Least: 1, Neighbours: true},
		{Name: "neighbor_alltoallw", Least: 1, Neighbours: true},
	}
}

// TestName is the name of the test of one form.
func (c Collective) TestName(f Form) string {
	switch f {
	case NonBlocking:
		return "i" + c.Name
	case Persistent:
		return c.Name + "_persistent"
	}
	return c.Name
}

// OverlapColumns are the headings behind the first column of a test of overlap, whose value is the time of both together.
func OverlapColumns() []string { return []string{"Compute(us)", "Pure Comm.(us)", "Overlap(%)"} }

// A comparison tells three things of such a test apart: both together, the communication alone, the part of it that is hidden.
const (
	Overall = "overall"
	Pure    = "pure"
	Overlap = "overlap"
)

// tests lists one form of every collective.
func tests(f Form) []Test {
	var all []Test
	for _, c := range Collectives() {
		t := Test{
			Name: c.TestName(f), Title: "Latency(us)", Unit: "us", MinRanks: 1, PerPeer: c.PerPeer, Form: f, Collective: c,
			Small: Loop{5000, 200}, Large: Loop{200, 20},
		}
		if f == NonBlocking {
			t.Title, t.More, t.Overlap = "Overall(us)", OverlapColumns(), true
		}
		if c.Least > 0 {
			t.Min, t.Max = c.Least, 1<<20
		} else {
			t.Small.Iterations = 10000
		}
		all = append(all, t)
	}
	return all
}
