#!/bin/sh
# shellcheck source-path=SCRIPTDIR
# Process 1 of a workload's pid namespace: builds a root of its own in the new mount namespace, binds the volumes
# into it, and starts the workload. Then it forwards signals, reaps processes that lost their parent, and ends with the
# exit code of the workload. It creates mount points on tmpfs only. On the host it creates files in the folder of the
# run, and the missing directories of a subPath in a volume.
#
# The workload gets only those mounts of the host that belong to the system (see system_mount) or have its working
# directory, its command or an absolute path among its arguments. Others stay out, because a mount namespace keeps every
# mount in it busy. An ordinary user can't omit all of them (see show_directory).
#
# Each start runs this script, so it starts few programs: one for many files or mounts instead of one for each, and
# builtins where possible.
#
# Its functions are in the parts enter-*.sh. This file has the order of the steps, and how a start is refused.
#
# usage: enter.sh RUN_DIRECTORY WORKING_DIRECTORY COMMAND [ARGUMENT...]
set -eu
exec 2>&8 8>&-
directory=$1
workdir=$2
shift 2
tab=$(printf '\t')
newline='
'
# The parts are read before the first mount, because this script's folder may be hidden later. If one can't be read, the
# shell ends here, before the trap below: the start failed, and no workload ended.
. "${0%/*}/enter-paths.sh"
. "${0%/*}/enter-plan.sh"
. "${0%/*}/enter-root.sh"
. "${0%/*}/enter-volumes.sh"
# The reason why the command does not run, for observers. The log has the reason too.
exec 8<>"$directory/refused"
refuse() {
  code=$1
  shift
  echo "kedge: $*" >&2 || :
  echo "$*" >&8 || :
  exit "$code"
}
fail() {
  refuse 125 "can't set up the workload's mounts: $*"
}

# Sets $identity to the pid of this process on the host, its start in clock ticks since boot, and the word box.
find_identity() {
  # /proc is still that of the host.
  read -r line </proc/self/stat
  # shellcheck disable=SC2086
  set -- ${line%% *} ${line##*) }
  identity="$1 ${21} box"
}

# If this script ends before the workload is started, this is recorded as the end of the workload. The supervisor
# opened the files, because files that are opened here would keep mounts of the host busy.
find_identity
# shellcheck disable=SC2154
trap 'code=$?; echo "$identity" >&6; echo "$code" >&7' EXIT

# Sets $user to the effective user id.
find_user() {
  while read -r field _ user _; do
    case $field in Uid:) return ;; esac
  done </proc/self/status
}

# Calls refuse; if path $3 is below a directory of volumes or of temporary files, the message has the remedy.
refuse_missing() {
  for line in $shared; do
    case $3/ in "${line%/}"/*) refuse "$1" "$2; $line holds volumes (storage.hostPathAllowlist), and a workload sees only its own: mount a volume with the file" ;; esac
  done
  case $3 in
  /tmp/* | /var/tmp/*) refuse "$1" "$2; /tmp and /var/tmp are empty directories of each run: mount a volume, or keep the file elsewhere" ;;
  esac
  refuse "$1" "$2"
}

# Lists of paths have one a line, and no path is a pattern.
find_user
set -f
IFS=$newline

case $1 in
*/*) program= ;;
*) program=$(PATH=$KEDGE_WORKLOAD_PATH; command -v "$1" || :) ;;
esac
# Below /.host an absolute link leads into the root of the run.
resolve_missing "$directory"
directory=$resolved
# The directories that hold volumes of several workloads.
find_paths shared
listed=$found
# The directories and files of the daemon.
find_paths hidden
hidden=$found
find_words "$workdir" "$program" "$@"
sort_mounts

root=$directory/root
[ -d "$root" ] || mkdir "$root"
# Unbindable: else a directory of the host above it would be shown with this half of a root inside.
mount --make-unbindable -t tmpfs -o mode=0755,size=16m kedge "$root" || fail "no tmpfs"
exec 3>"$directory/system"
mirror "" "$root" "$root/.host"
make_planned "$directory/system"
cd "$root"
pivot_root . .host || fail "pivot_root"
cd /
mount --make-private /

ours=
made=
volumes=
# One that is made on the host later must not appear.
for line in $listed; do
  if below_temporary "$line"; then continue; fi
  [ -d "$line" ] || provide "$line" || fail "$line"
done
exec 3>"/.host$directory/shares"
cover_shared
make_planned "/.host$directory/shares"

find_programs
while IFS=$tab read -r mode source target inside; do
  mount_volume "$mode" "$source" "$target" "$inside"
done <"/.host$directory/binds"
[ ! -d /.bind ] || rmdir /.bind

# Covers the files of the daemon: keys, database, and secrets of other workloads.
covered=
for line in $hidden; do
  # What is below a cover is covered.
  for cover in $covered; do
    case $line/ in "${cover%/}"/*) continue 2 ;; esac
  done
  # A mount ends when what it is on is removed on the host, or replaced by a rename. What has its name later would be
  # visible then, as what the host makes later at a missing path. So each is an entry of a directory of ours.
  own_private_directory "$line"
  # A path in a volume of this workload is not covered, unless the volume shows the daemon's own file there.
  # shellcheck disable=SC3013
  if [ ! -e "$line" ] || { in_volume "$line" && [ ! "$line" -ef "/.host$line" ]; }; then continue; fi
  covered=$covered$line$newline
done
exec 3>"/.host$directory/covers"
read_only /dev/null
for line in $covered; do
  if [ -d "$line" ]; then
    cover "$line"
  else
    plan /dev/null "$line" none "bind$options"
  fi
done
make_planned "/.host$directory/covers"
for line in $hidden; do
  # POSIX has -ef since 2024, and the shells of Linux had it before.
  # shellcheck disable=SC3013
  if [ "$line" -ef "/.host$line" ] && [ ! "$line" -ef /dev/null ]; then fail "$line of kedged can't be hidden"; fi
done
privileges=
while IFS= read -r line; do privileges=$privileges$line$newline; done <"/.host$directory/privileges"
filter=
# A kedged that was not restarted since an upgrade writes none.
if [ -f "/.host$directory/filter" ]; then
  while IFS= read -r line; do filter=$filter$line$newline; done <"/.host$directory/filter"
fi
[ -n "$filter" ] ||
  echo "kedge: this node can't filter system calls (perl, on x86-64 or arm64): the workload can leave setuid programs in its volumes" >&2
umount -l /.host
rmdir /.host
[ ! -d /.made ] || rmdir /.made
# Commands that are started in the workload later find their programs by what is here.
for line in $made /; do mount -o remount,bind,ro "$line" || fail "$line"; done

cd "$workdir" 2>/dev/null ||
  refuse_missing 125 "its working directory $workdir does not exist, or can't be entered" "$workdir"
case $1 in
*/*)
  if [ -d "$1" ]; then refuse 126 "command $1 is a directory"; fi
  if [ ! -e "$1" ]; then refuse_missing 127 "command $1 does not exist" "$1"; fi
  if [ ! -x "$1" ]; then refuse 126 "command $1 is not executable"; fi
  ;;
*)
  program=
  IFS=:
  for entry in $KEDGE_WORKLOAD_PATH; do
    if [ -f "$entry/$1" ] && [ -x "$entry/$1" ]; then program=$entry/$1 && break; fi
  done
  IFS=$newline
  [ -n "$program" ] || refuse 127 "command $1 is not found in its PATH"
  ;;
esac
exec 8>&-
# Process 1 is a shell that runs from the new root: this one's program and script are files of the host's mounts.
# No process signals it before $1, its identity, is written; a signal with its default action has no effect on it.
# The rest of its arguments is the workload.
# shellcheck disable=SC2016
first='
trap "echo 125 >&7" EXIT
# The workload may not have a process group yet.
pass() { kill -s "$1" -- "-$workload" 2>/dev/null || kill -s "$1" "$workload" 2>/dev/null || :; }
workload=
for signal in HUP INT QUIT USR1 USR2 TERM WINCH; do trap "pass $signal" "$signal"; done
identity=$1
shift
setsid "$@" 6>&- 7>&- &
workload=$!
echo "$identity" >&6
exec 2>/dev/null 6>&-
while :; do
  wait "$workload"
  code=$?
  kill -0 "$workload" || break
done
# A wait that a signal interrupted returns the signal. The shell may have reaped the workload since, while it forwarded
# the signal: then the next wait returns its code, or 127 if it was returned before.
wait "$workload"
ended=$?
[ "$ended" = 127 ] || code=$ended
trap - EXIT
echo "$code" >&7
exit "$code"
'
# The variables of the workload are set last, so that none of them reaches a program that runs before the command.
# shellcheck disable=SC2086
exec /bin/sh -c "$first" kedge "$identity" setpriv $privileges -- $filter /bin/sh -c "$KEDGE_BECOME" kedge "$@"
