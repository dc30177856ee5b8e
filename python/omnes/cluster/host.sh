# host.sh NAME ADDRESS [PACKET SHAPE...]: a host, from its namespaces on; it says "made", is told that it has its link, and says "ready".
set -e
hostname "$1"
echo made
read -r
ip link set lo up
ip addr add "$2" dev eth0
ip link set eth0 up
shift 2
if [ $# != 0 ]; then
  packet=$1
  shift
  ip link set eth0 gso_max_size "$packet"
  tc qdisc add dev eth0 root "$@"
fi
echo ready
# Who ignores this signal need not wait for its children, which are all processes here that lose their parents.
trap '' CHLD
exec sleep infinity >/dev/null 2>&1
