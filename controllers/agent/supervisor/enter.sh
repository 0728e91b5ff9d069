#!/bin/sh
# Runs inside the new mount namespace: builds a root of its own, binds the volumes into it, and
# becomes the workload. Nothing it creates is on the host: mount points live on tmpfs.
#
# usage: enter.sh RUN_DIRECTORY WORKING_DIRECTORY COMMAND [ARGUMENT...]
set -eu
directory=$1
workdir=$2
shift 2
fail() {
  echo "kedge: can't set up the workload's mounts: $*" >&2
  exit 125
}

# Shows every entry of directory $1 in directory $2, which is ours.
mirror() {
  for entry in "$1"/* "$1"/.[!.]* "$1"/..?*; do
    name=${entry##*/}
    if [ -L "$entry" ]; then
      ln -s "$(readlink "$entry")" "$2/$name"
    elif [ -d "$entry" ]; then
      mkdir "$2/$name"
      mount --rbind "$entry" "$2/$name"
    elif [ -e "$entry" ]; then
      : >"$2/$name"
      mount --bind "$entry" "$2/$name"
    fi
  done
}

# Makes directory $1 exist without writing to the host: the deepest directory that exists is
# covered by a tmpfs that shows the same entries, unless it is ours already.
provide() {
  existing=$1
  while [ ! -d "$existing" ]; do existing=$(dirname "$existing"); done
  [ "$existing" = "$1" ] && return
  existing=$(readlink -f "$existing")
  device=$(stat -c %d "$existing")
  case " $ours " in
  *" $device "*) ;;
  *)
    mount -t tmpfs -o mode=0755,size=16m kedge "$existing"
    ours="$ours $(stat -c %d "$existing")"
    mirror "/.host$existing" "$existing"
    ;;
  esac
  mkdir -p "$1"
}

root=$directory/root
mkdir -p "$root"
mount -t tmpfs -o mode=0755,size=16m kedge "$root" || fail "no tmpfs"
mirror "" "$root"
mkdir "$root/.host"
cd "$root"
pivot_root . .host || fail "pivot_root"
cd /
ours=$(stat -c %d /)

tab=$(printf '\t')
while IFS=$tab read -r mode source target; do
  provide "$target" || fail "$target"
  mount --bind "/.host$source" "$target" || fail "$source at $target"
  if [ "$mode" = ro ]; then
    mount -o remount,bind,ro "$target" || fail "$target read only"
  fi
done <"/.host$directory/binds"

# The daemon's own files (keys, database, other workloads' secrets) are no business of a workload.
while IFS= read -r hidden; do
  [ -d "$hidden" ] || continue
  mount -t tmpfs -o ro,mode=0555,size=4k kedge "$hidden" || fail "hiding $hidden"
done <"/.host$directory/hidden"
umount -l /.host
rmdir /.host

cd "$workdir" || fail "working directory $workdir does not exist"
PATH=$KEDGE_WORKLOAD_PATH
unset KEDGE_WORKLOAD_PATH OLDPWD
if [ "$(id -u)" != 0 ]; then
  # The capabilities were for the mounts only.
  exec setpriv --ambient-caps=-all --inh-caps=-all -- "$@"
fi
exec "$@"
