#!/bin/sh
# Runs a command inside a private Slurm cluster of two nodes on this machine, then shuts it down.
#
#   .ci/slurm.sh srun --mpi=pmi2 -N2 -n4 PROGRAM
#
# Needs root and the packages slurm-wlm (slurmctld, slurmd, srun) and munge. Everything the cluster writes is in a folder of its
# own, removed at the end. The exit status is the command's; 77 when something it needs is missing.
set -eu

for tool in slurmctld slurmd srun scancel sinfo munged setpriv; do
	command -v "$tool" >/dev/null || { echo "slurm.sh: $tool is not installed" >&2; exit 77; }
done
[ "$(id -u)" = 0 ] || { echo "slurm.sh: the daemons need root" >&2; exit 77; }
[ $# -gt 0 ] || { echo "usage: slurm.sh COMMAND [ARGS...]" >&2; exit 2; }

dir=$(mktemp -d)
chmod 755 "$dir"
host=$(hostname -s)
pids=

# idle says whether both nodes wait for work; a node whose steps are still being cleared away does not.
idle() {
	[ "$(sinfo -h -N -t idle -o %N 2>/dev/null | sort | tr '\n' ' ')" = "n1 n2 " ]
}

# patiently runs a test five times a second until it succeeds, for so many seconds.
patiently() {
	tries=$(($1 * 5))
	shift
	until "$@"; do
		tries=$((tries - 1))
		[ "$tries" -gt 0 ] || return 1
		sleep 0.2
	done
}

gone() {
	! kill -0 "$1" 2>/dev/null
}

# end stops one daemon this script has started, by its number.
end() {
	kill "$1" 2>/dev/null || return 0
	patiently 5 gone "$1" || kill -9 "$1" 2>/dev/null || :
	wait "$1" 2>/dev/null || :
}

# stop ends the daemons in turn, munged last: while a step is being cleared away they need each other.
stop() {
	trap - EXIT
	if [ -n "$pids" ] && [ -n "${SLURM_CONF:-}" ]; then
		scancel -u root 2>/dev/null || :
		patiently 10 idle || :
	fi
	for pid in $pids; do
		end "$pid"
	done
	rm -rf "$dir"
}
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# A munge of our own, so that one of the system is not touched.
mkdir "$dir/munge"
dd if=/dev/urandom of="$dir/munge/key" bs=1024 count=1 2>/dev/null
chown -R munge "$dir/munge"
chmod 400 "$dir/munge/key"
chmod 755 "$dir/munge"
setpriv --reuid munge --regid munge --clear-groups munged --foreground --key-file "$dir/munge/key" --socket "$dir/munge/socket" \
	--pid-file "$dir/munge/pid" --seed-file "$dir/munge/seed" --log-file "$dir/munge/log" >"$dir/munged.out" 2>&1 &
pids="$pids $!"

mkdir "$dir/ctld" "$dir/d.n1" "$dir/d.n2"
cat >"$dir/slurm.conf" <<CONF
ClusterName=t
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=17000
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$dir/munge/socket
CredType=cred/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
SlurmdParameters=config_overrides
MpiDefault=pmi2
StateSaveLocation=$dir/ctld
SlurmctldPidFile=$dir/ctld.pid
SlurmctldLogFile=$dir/ctld.log
SlurmdSpoolDir=$dir/d.%n
SlurmdPidFile=$dir/d.%n.pid
SlurmdLogFile=$dir/d.%n.log
NodeName=n1 NodeHostname=$host NodeAddr=127.0.0.1 Port=17001 CPUs=4 State=UNKNOWN
NodeName=n2 NodeHostname=$host NodeAddr=127.0.0.1 Port=17002 CPUs=4 State=UNKNOWN
PartitionName=p Nodes=n1,n2 Default=YES MaxTime=INFINITE State=UP
CONF
export SLURM_CONF="$dir/slurm.conf"

slurmctld -D >"$dir/ctld.out" 2>&1 &
pids="$! $pids"
for node in n1 n2; do
	slurmd -D -N "$node" >"$dir/$node.out" 2>&1 &
	pids="$! $pids"
done

if ! patiently 30 idle; then
	echo "slurm.sh: the nodes do not come up" >&2
	for log in "$dir"/*.log "$dir"/*.out "$dir/munge/log"; do
		tail -n 5 "$log" >&2 || :
	done
	exit 1
fi

status=0
"$@" || status=$?
exit "$status"
