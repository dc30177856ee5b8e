#!/bin/sh
# ssh [OPTIONS] HOST COMMAND...: what launchers call. As ssh does, it starts a shell in the home folder, with a fresh environment.
hosts=$(dirname "$0")/../hosts
while :; do
  case $1 in
    -[lpoFi]) shift 2 ;;
    -*) shift ;;
    *) break ;;
  esac
done
host=${1#*@}
shift
if ! read -r process cpus 2>/dev/null <"$hosts/$host"; then
  echo "ssh: no host '$host'; there are" $(ls "$hosts") >&2
  exit 255
fi
exec nsenter --target "$process" --net --uts --ipc --mount --pid="/proc/$process/ns/pid_for_children" -- \
  taskset --cpu-list "$cpus" \
  env -i HOME="$HOME" USER="$USER" SHELL=/bin/sh PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin \
  sh -c "cd; ${*:-exec sh -i}"
