#!/bin/bash
# Measures striping: two ranks in two network namespaces, joined by two links that are shaped to RATE each; bandwidth over one link and
# over both. Wants root, ip and tc. Cleans up after itself however it ends.
#
#	bench/netns.sh [RATE in Mbit/s, default 200] [message size in bytes, default 4194304]
#
# The last line is "one A two B ratio R", in MB/s. Further words for mpirun come from MPIRUN_ARGS.
set -euo pipefail
cd "$(dirname "$0")/.."
rate=${1:-200}
size=${2:-4194304}
a=ompi-a-$$
b=ompi-b-$$
dir=$(mktemp -d)

skip() {
	echo "skipped: $1"
	exit 77
}

cleanup() {
	ip netns del "$a" 2>/dev/null || true # its ends of the links go with it, and the other ends with those
	ip netns del "$b" 2>/dev/null || true
	rm -rf "$dir"
}

[ "$(id -u)" = 0 ] || skip "only root makes namespaces"
command -v ip >/dev/null || skip "ip is not installed"
command -v tc >/dev/null || skip "tc is not installed"
trap cleanup EXIT
trap 'exit 1' INT TERM HUP
ip netns add "$a" 2>"$dir/err" || skip "ip netns add: $(cat "$dir/err")"
ip netns add "$b"
# The loopback interfaces stay down, so that nobody takes the two for one host.
for i in 1 2; do
	ip link add "ompi$i" netns "$a" type veth peer name "ompi$i" netns "$b" 2>"$dir/err" || skip "veth: $(cat "$dir/err")"
	ip -n "$a" addr add "10.99.$i.1/24" dev "ompi$i"
	ip -n "$b" addr add "10.99.$i.2/24" dev "ompi$i"
	for ns in "$a" "$b"; do
		ip -n "$ns" link set "ompi$i" up
		tc -n "$ns" qdisc add dev "ompi$i" root tbf rate "${rate}mbit" burst 128k latency 100ms 2>"$dir/err" || skip "tc tbf: $(cat "$dir/err")"
	done
done
go build -o "$dir" ./cmd/mpirun ./cmd/ompi-bench
cat >"$dir/rank" <<END
#!/bin/bash
ns=$a
[ "\$PMI_RANK" = 0 ] || ns=$b
exec ip netns exec \$ns "$dir/ompi-bench" "\$@"
END
chmod +x "$dir/rank"
bw() {
	timeout 60 "$dir/mpirun" -n 2 --mca btl self,tcp --mca coll ^sm "$@" ${MPIRUN_ARGS:-} "$dir/rank" bw -m "$size:$size" -i 1 -x 1 | tee /dev/stderr | awk '$1 ~ /^[0-9]+$/ { x = $2 } END { print x }'
}
one=$(bw --mca btl_tcp_if_include ompi1)
two=$(bw --mca btl_tcp_links 2)
awk -v a="$one" -v b="$two" 'BEGIN { printf "one %s two %s ratio %.3f\n", a, b, b / a }'
