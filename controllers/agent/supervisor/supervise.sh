#!/bin/sh
# Starts one workload in namespaces of its own and records how it ends. It is a process of its own, so that the workload
# and the record of its end survive the daemon.
#
# usage: supervise.sh RUN_DIRECTORY root|user WORKING_DIRECTORY COMMAND [ARGUMENT...]
#
# RUN_DIRECTORY holds: binds, hidden, shared, privileges, filter and groups (in), claimed/ (with supervisor and lock),
# errors, refused, code, pid and exit (out). Standard output is the log.
# In the environment, the workload's variables are values of KEDGE_ENV_<n>.
set -u
directory=$1
mode=$2
shift 2

# Sets $started to when a process started, in clock ticks since boot: distinguishes it from a later one with its pid.
find_start() {
  started=0
  read -r line <"/proc/$1/stat" || return
  # shellcheck disable=SC2086
  set -- ${line##*) }
  started=${20}
}

# Only one may start this run: a daemon that found it unclaimed after a crash may have given it up.
if ! mkdir "$directory/claimed" 2>/dev/null; then
  # If it is unclaimed, the second attempt logs why it can't be claimed.
  [ -d "$directory/claimed" ] || mkdir "$directory/claimed"
  exit 0
fi
find_start $$
# A run without this record would not be found.
echo "$$ $started" >"$directory/claimed/supervisor" || exit 3
# Held until this script ends: a daemon in another pid namespace sees neither it nor the workload in /proc.
exec 9>"$directory/claimed/lock"
flock --nonblock 9 || exit 3
# These records get their disk space before the workload starts: they are replaced in place, also if the disk is full by
# then. Without its pid a workload would run unseen, and without its code a failure would look like a success.
for name in pid code exit.new refused; do printf '%300s\n' '' >"$directory/$name" || exit 3; done

enter=${0%/*}/enter.sh
# An ordinary user can't omit single mounts of the host. With slave propagation they end when the host unmounts them.
case $mode in
root) set -- --propagation private -- /bin/sh "$enter" "$directory" "$@" ;;
user) set -- --user --map-current-user --keep-caps --propagation slave -- /bin/sh "$enter" "$directory" "$@" ;;
*) exit 2 ;;
esac

# Process 1 of the sandbox writes its pid once it handles signals, and is killed with unshare(1), which waits for it.
# Messages of this subshell about the end of a killed process are in no log.
# It joins the control groups of its limits first: this script, which records its end, is in none of them.
(
  if [ -f "$directory/groups" ]; then
    while IFS= read -r procs; do
      echo 0 >"$procs" || exit 4
    done <"$directory/groups"
  fi
  exec unshare --mount --pid --ipc --fork --kill-child "$@" </dev/null
) 6<>"$directory/pid" 7<>"$directory/code" 8>&2 2>"$directory/errors" 9>&- &
workload=$!
trap : HUP INT TERM

# Earlier runs are over, and nothing reads their folders. Without their removal a crash loop would fill the disk.
set -- "${directory%/*}"/run-*
if [ $# -gt 1 ]; then
  number=${directory##*-}
  for earlier; do
    [ "${earlier##*-}" -lt "$number" ] || continue
    # As in remove-tree.ts.
    rm -rf -- "$earlier" 2>/dev/null || case $mode in
    root) rm -rf -- "$earlier" ;;
    user) unshare --user --map-root-user -- rm -rf -- "$earlier" ;;
    esac
  done
fi

while :; do
  wait "$workload"
  code=$?
  kill -0 "$workload" 2>/dev/null || break
done
# As in enter.sh.
wait "$workload" 2>/dev/null
ended=$?
[ "$ended" = 127 ] || code=$ended
# No workload was started: this script's exit code says so.
read -r line <"$directory/pid" || line=
if [ -z "$line" ]; then
  cat "$directory/errors" >&2
  exit "$code"
fi
# Releases of unshare(1) differ in how they report that their process was killed. A killed process wrote no code.
code=
read -r code <"$directory/code" || code=
# Without this record the daemon reports that the code is unknown.
echo "${code:-137}" 1<>"$directory/exit.new" || exit 3
mv "$directory/exit.new" "$directory/exit"
