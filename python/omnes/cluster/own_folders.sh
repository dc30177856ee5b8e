# own_folders.sh FOLDER... -- COMMAND...: runs the command with empty /tmp and /dev/shm that hold only those folders of before.
set -e
folders=()
while [ "$1" != -- ]; do
  folders+=("$1")
  shift
done
shift
# What is covered can still be reached through an open descriptor.
for i in "${!folders[@]}"; do exec {fd}<"${folders[i]}" && open[i]=$fd; done
mount -t tmpfs -o mode=1777 tmpfs /tmp
mount -t tmpfs -o mode=1777 tmpfs /dev/shm
for i in "${!folders[@]}"; do
  mkdir -p "${folders[i]}"
  mount --no-canonicalize --bind "/proc/self/fd/${open[i]}" "${folders[i]}"
  fd=${open[i]} && exec {fd}<&-
done
exec "$@"
