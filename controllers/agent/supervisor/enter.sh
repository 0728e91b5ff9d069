#!/bin/sh
# Process 1 of a workload's pid namespace: builds a root of its own in the new mount namespace, binds the volumes
# into it, and starts the workload. Then it forwards signals, reaps processes that lost their parent, and ends with the
# exit code of the workload. It creates mount points on tmpfs only. On the host it creates files in the folder of the
# run, and the missing directories of a subPath in a volume.
#
# The workload gets only those mounts of the host that belong to the system (see system_mount) or have its working
# directory or its command. Others stay out, because a mount namespace keeps every mount in it busy.
#
# Each start runs this script, so it starts few programs: one for many files or mounts instead of one for each, and
# builtins where possible.
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

# Sets $resolved to the path without symbolic links. Empty if the path has a link and more than its last component is
# missing.
resolve() {
  resolved=$1
  case $1/ in
  *//* | */./* | */../*) ;;
  *)
    while [ ! -L "$resolved" ]; do
      resolved=${resolved%/*}
      case $resolved in '') break ;; esac
    done
    case $resolved in
    '')
      resolved=$1
      return
      ;;
    esac
    ;;
  esac
  resolved=$(readlink -f -- "$1" || :)
}

# Sets $resolved to path $1 without symbolic links, also if directories of it are missing.
resolve_missing() {
  resolve "$1"
  above=$1
  while [ -z "$resolved" ]; do
    case $above in
    */*) above=${above%/*} ;;
    *) fail "the links of $1 can't be resolved" ;;
    esac
    resolve "${above:-/}"
    resolved=${resolved:+"${resolved%/}${1#"$above"}"}
  done
}

# Whether the path is a mount point of the system, not one of user data.
system_mount() {
  case $1 in
  /proc | /proc/* | /sys | /sys/* | /dev | /dev/*) ;;
  /etc | /etc/* | /usr | /usr/* | /bin | /sbin | /lib | /lib/* | /lib32 | /lib64 | /libx32) ;;
  /nix | /nix/store | /gnu | /gnu/store | /home | /opt | /root) ;;
  /run | /run/lock | /run/shm | /run/user | "/run/user/$user") ;;
  /var | /var/cache | /var/lib | /var/log | /var/opt | /var/spool) ;;
  *) return 1 ;;
  esac
}

# Whether the path is below a directory of temporary files. These directories are those of the run, not of the host.
below_temporary() {
  case $1 in /tmp/* | /var/tmp/*) ;; *) return 1 ;; esac
}

# Sets $found to the paths in file $1 of the run without links, one a line. Called while the root is that of the host: in
# the root of the run a link may lead elsewhere, and its target on the host would stay visible.
find_paths() {
  found=
  while IFS= read -r line; do
    [ -n "$line" ] || continue
    resolve_missing "$line"
    found=$found$resolved$newline
  done <"$directory/$1"
}

# Plans to cover directory $1. mount(8) would skip a source that is mounted there, and provide may have mounted kedge.
cover() {
  plan kedge-cover "$1" tmpfs ro,mode=0555,size=4k
}

# Plans to cover the directories that hold volumes of several workloads, and sets $shared to them, one a line. The
# volumes of this workload are mounted later. Directories that every program needs are not covered.
cover_shared() {
  shared=
  for line in $listed; do
    [ -d "$line" ] || continue
    case $line in
    # These are directories of the run.
    /tmp | /var/tmp) continue ;;
    / | /bin | /sbin | /lib* | /usr | /usr/bin | /usr/lib* | /usr/sbin | /etc | /proc | /proc/* | /sys | /sys/* | \
      /dev | /dev/* | /run | /nix | /nix/store | /gnu | /gnu/store | /var)
      echo "kedge: volumes may be anywhere below $line (storage.hostPathAllowlist): this workload can read the volumes of other workloads there" >&2
      continue
      ;;
    esac
    # What is below a cover is covered.
    for cover in $shared; do
      case $line/ in "${cover%/}"/*) continue 2 ;; esac
    done
    shared=$shared$line$newline
    cover "$line"
  done
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

# Whether the path is a directory of the daemon or below one.
hidden_from_it() {
  for private in $hidden; do
    case $1/ in "${private%/}"/*) return 0 ;; esac
  done
  return 1
}

# Sets $words to the absolute paths among the arguments, as given and without links, each between a newline and a slash.
find_words() {
  words=$newline
  for word; do
    case $word in
    / | *"$newline"*) ;;
    /*)
      resolve "$word"
      words=$words$word/$newline$resolved/$newline
      ;;
    esac
  done
}

# Sorts the host's mounts into two lists of paths, each path between newlines.
sort_mounts() {
  kept=$newline
  dropped=$newline
  flags=
  # At once: a shell reads a file byte by byte.
  # shellcheck disable=SC2013
  for line in $(cat /proc/self/mountinfo); do
    # The fifth field.
    line=${line#* * * * }
    target=${line%% *}
    line=${line#* }
    flags=${line%% *}$tab$target$newline$flags
    case $target in *\\*) target=$(printf '%b.' "$target") && target=${target%.} ;; esac
    # The run has its own root and its own temporary directories.
    case $target in / | /tmp | /var/tmp | *"$newline"*) continue ;; esac
    list=dropped
    if below_temporary "$target"; then
      :
    elif system_mount "$target"; then
      list=kept
    else
      case $words in *"$newline$target/"*) list=kept ;; esac
    fi
    if [ $list = kept ] && hidden_from_it "$target"; then list=dropped; fi
    case $list in
    kept) case $kept in *"$newline$target$newline"*) ;; *) kept=$kept$target$newline ;; esac ;;
    dropped) dropped=$dropped$target$newline ;;
    esac
  done
}

# Sets $word to path $1 with the escapes of a table of mounts.
table_word() {
  word=
  rest=$1
  while :; do
    case $rest in
    *[\\" $tab$newline"]*)
      word=$word${rest%%[\\" $tab$newline"]*}
      rest=${rest#"${rest%%[\\" $tab$newline"]*}"}
      case $rest in
      \\*) word=$word'\134' ;;
      ' '*) word=$word'\040' ;;
      "$tab"*) word=$word'\011' ;;
      *) word=$word'\012' ;;
      esac
      rest=${rest#?}
      ;;
    *)
      word=$word$rest
      return
      ;;
    esac
  done
}

# Adds a mount to the table on descriptor 3: source $1, target $2, type $3, options $4.
plan() {
  table_word "$1"
  planned=$word
  table_word "$2"
  # Explicit, because -e has no effect below a condition. A table without a line would leave something writable or visible.
  printf '%s %s %s %s 0 0\n' "$planned" "$word" "$3" "$4" >&3 || fail "their table can't be written; free space on the disk of the data directory"
}

# Mounts the entries of table $1 in their order.
make_planned() {
  exec 3>&-
  said=$(mount --all --fstab "$1" 2>&1) || fail "$said"
}

# Sets $options to those that show path $1 of the host read-only.
read_only() {
  options=,ro
  if [ "$user" != 0 ]; then keep_flags "$1"; fi
}

# Adds nosuid, nodev and noexec to $options if the mount of path $1 of the host has them, because an ordinary user may
# not remove them.
keep_flags() {
  longest=
  found=
  for line in $flags; do
    line_target=${line#*"$tab"}
    case $1/ in
    "${line_target%/}"/*) if [ ${#line_target} -gt ${#longest} ]; then longest=$line_target found=${line%%"$tab"*}; fi ;;
    esac
  done
  for word in nosuid nodev noexec; do
    case ,$found, in *,$word,*) options=$options,$word ;; esac
  done
}

# Plans to show path $1 of the host at $2 as it is mounted, read-only, with mount option $3 (bind or rbind).
show() {
  read_only "$1"
  plan "$1" "$2" none "$3$options"
}

# Plans to show a directory of this run at $2 in place of $1, which is /tmp or /var/tmp. In the directory of the host a
# workload could leave a program with the set-user-ID bit, which would give its rights to any user of the machine. A
# directory takes no memory, unlike a tmpfs. Other users of the machine can't enter the folder of the run above it.
show_temporary() {
  own=$directory/temporary${1%/tmp}
  mkdir -p -- "$own"
  # With -p the mode would be ignored where the directory exists, and its parent would have it.
  mkdir -m 1777 -- "$own/tmp"
  options=
  keep_flags "$own"
  plan "$own/tmp" "$2" none "bind,nosuid,nodev$options"
}

# A /proc of its own at $1: it shows the processes of this pid namespace, and changes nothing of the machine.
make_proc() {
  if ! mount -t proc -o nosuid,nodev,noexec proc "$1" 2>/dev/null; then
    echo "kedge: this machine lets an ordinary user mount no /proc: the workload sees the processes of the machine" >&2
    plan /proc "$1" none rbind
    return
  fi
  for below in sys irq bus fs acpi scsi sysrq-trigger; do
    [ ! -e "/proc/$below" ] || plan "$1/$below" "$1/$below" none bind,ro
  done
}

# Plans the devices that every program may use at $1, with terminals and shared memory of its own. Devices on a
# read-only mount can be written, but their mode and owner, which are those of the host's devices, can't be changed.
make_dev() {
  read_only /dev
  mkdir "$1/pts" "$1/shm"
  for below in null zero full random urandom tty; do
    [ -c "/dev/$below" ] || continue
    : >"$1/$below"
    plan "/dev/$below" "$1/$below" none "bind$options"
  done
  set --  "$1"
  for below in fd stdin stdout stderr; do if [ -L "/dev/$below" ]; then set -- "$@" "/dev/$below"; fi; done
  dev=$1
  shift
  [ $# = 0 ] || cp -P -- "$@" "$dev"
  plan devpts "$dev/pts" devpts nosuid,noexec,newinstance,ptmxmode=0666,mode=0620
  : >"$dev/ptmx"
  plan "$dev/pts/ptmx" "$dev/ptmx" none bind
  plan kedge "$dev/shm" tmpfs nosuid,nodev,mode=1777
}

# The machine's settings at $1, without a way to change them or the control groups.
make_sys() {
  if [ "$user" != 0 ]; then
    plan /sys "$1" none rbind
    [ ! -d /sys/fs/cgroup ] || plan kedge "$1/fs/cgroup" tmpfs ro,size=4k
    return
  fi
  plan /sys "$1" none bind,ro
  for below in $kept; do
    case $below in /sys/fs/cgroup | /sys/fs/cgroup/*) plan "$below" "$1${below#/sys}" none bind,ro ;; esac
  done
}

# Makes an empty /run at $1, because the host's has the sockets of its services. The files of the name resolver are
# shown.
make_run() {
  mount -t tmpfs -o nosuid,nodev,mode=0755 kedge "$1" || fail "no tmpfs"
  run=$1
  set -- "$run/lock"
  for below in systemd/resolve resolvconf; do
    [ ! -d "/run/$below" ] || set -- "$@" "$run/$below"
  done
  mkdir -p -- "$@"
  shift
  for below; do show "/run${below#"$run"}" "$below" bind; done
}

# Plans to show directory $1 of the host at directory $2, with the mounts below it that the workload gets.
show_directory() {
  case $1 in
  /proc) make_proc "$2" && return ;;
  /sys) make_sys "$2" && return ;;
  /dev) make_dev "$2" && return ;;
  /run) make_run "$2" && return ;;
  /tmp | /var/tmp)
    show_temporary "$1" "$2"
    return
    ;;
  esac
  # A tmpfs covers it later.
  if hidden_from_it "$1"; then return; fi
  if [ "$user" = 0 ]; then
    show "$1" "$2" bind
    show_var_tmp "$1" "$2"
    case $kept in *"$newline$1/"*) ;; *) return 0 ;; esac
    for below in $kept; do
      case $below in "$1"/*) [ ! -e "$below" ] || show "$below" "$2${below#"$1"}" bind ;; esac
    done
    return
  fi
  # An ordinary user can't omit or unmount a single mount of the host. Directories with mounts to omit are created
  # again, entry by entry, unless the user may write to them.
  case $dropped in
  *"$newline$1/"*)
    if [ "$1" != /run ] && [ ! -w "$1" ]; then
      [ -x "$1" ] || return 0
      if [ -r "$1" ]; then
        # A shell of its own keeps the variables of the caller's loop.
        (mirror "$1" "$2")
        return
      fi
    fi
    ;;
  esac
  show "$1" "$2" rbind
  show_var_tmp "$1" "$2"
}

# Plans to show a /var/tmp of this run in directory $2, which shows directory $1 of the host, if that is /var.
show_var_tmp() {
  case $1 in /var) [ ! -d /var/tmp ] || [ -L /var/tmp ] || show_temporary /var/tmp "$2/tmp" ;; esac
}

# Whether path $1 of the host is shown as a link. A link at /tmp would lead to temporary files of the host.
shown_as_link() {
  [ -L "$1" ] && [ "$1" != /tmp ]
}

# Makes entries for those of directory $1 (or "" for the root) in directory $2, which is ours, and the
# directories that further arguments name. Lists of more than 500 are processed in parts.
make_entries() {
  from=$1
  to=$2
  shift 2
  set +f
  for entry in "$from"/* "$from"/.[!.]* "$from"/..?*; do
    if shown_as_link "$entry"; then continue; fi
    if [ -d "$entry" ]; then
      set -- "$@" "$to/${entry##*/}"
    elif [ -e "$entry" ]; then
      : >"$to/${entry##*/}"
    fi
    if [ $# -gt 500 ]; then mkdir -- "$@" && set --; fi
  done
  [ $# = 0 ] || mkdir -- "$@"
  set --
  for entry in "$from"/* "$from"/.[!.]* "$from"/..?*; do
    if shown_as_link "$entry"; then set -- "$@" "$entry"; fi
    if [ $# -gt 500 ]; then cp -P -- "$@" "$to" && set --; fi
  done
  [ $# = 0 ] || cp -P -- "$@" "$to"
  set -f
}

# Shows every entry of directory $1 of the host (or "" for its root) in directory $2, which is ours.
# Further arguments are directories to make there.
mirror() {
  make_entries "$@"
  set +f
  for entry in "$from"/* "$from"/.[!.]* "$from"/..?*; do
    set -f
    name=${entry##*/}
    if shown_as_link "$entry"; then
      continue
    elif [ -d "$entry" ]; then
      case $dropped in
      *"$newline$entry$newline"*) ;;
      *) show_directory "$entry" "$to/$name" ;;
      esac
    elif [ -e "$entry" ] && ! hidden_from_it "$entry"; then
      show "$entry" "$to/$name" bind
    fi
  done
}

# Whether path $1 is in a volume that was mounted.
in_volume() {
  for volume in $volumes; do
    case $1/ in "${volume%/}"/*) return 0 ;; esac
  done
  return 1
}

# Makes directory $1 exist without writing to the host or a volume: the deepest directory that exists is
# covered by a tmpfs that shows the same entries, unless it is ours already.
provide() {
  existing=$1
  while [ ! -d "$existing" ]; do existing=$(dirname "$existing"); done
  [ "$existing" = "$1" ] && return
  resolve "$existing"
  existing=$resolved
  case $existing/ in
  /tmp/* | /var/tmp/*)
    if ! in_volume "$existing"; then
      mkdir -p -- "$1"
      return
    fi
    ;;
  esac
  own_directory "$existing" || fail "$said"
  mkdir -p "$1"
}

# Covers directory $1, a path without links, with a tmpfs that shows the same entries, unless it is ours already. Files of
# the daemon are empty there. Fails, and sets $said, if an entry is removed meanwhile.
own_directory() {
  existing=$1
  device=$(stat -c %d "$existing") || fail "$existing"
  [ -n "$ours" ] || ours=$(stat -c %d /)
  case " $ours " in *" $device "*) return ;; esac
  # Made elsewhere and moved: mount(8) would skip the entries that are mount points, such as volumes, as mounted already.
  [ -d /.made ] || mkdir /.made
  said=$(mount -t tmpfs -o mode=0755,size=16m kedge /.made 2>&1) || fail "$said"
  make_entries "$existing" /.made
  exec 3>"/.host$directory/covered"
  set +f
  for entry in "$existing"/* "$existing"/.[!.]* "$existing"/..?*; do
    name=${entry##*/}
    if [ -L "$entry" ]; then
      continue
    elif [ -d "$entry" ]; then
      plan "$entry" "/.made/$name" none rbind
    elif [ -e "$entry" ] && ! hidden_from_it "$entry"; then
      plan "$entry" "/.made/$name" none bind
    fi
  done
  set -f
  exec 3>&-
  if ! said=$(mount --all --fstab "/.host$directory/covered" 2>&1); then
    umount -l /.made
    return 1
  fi
  ours="$ours $(stat -c %d /.made)"
  said=$(mount --no-canonicalize --move /.made "$existing" 2>&1) || fail "$said"
  made=$existing$newline$made
}

# Covers directory $1 of a file of the daemon as own_directory, if it can be listed, has few entries, and they stay for a
# moment. Otherwise only the file is covered, until it is replaced on the host.
own_private_directory() {
  parent=${1:-/}
  [ -r "$parent" ] && [ -x "$parent" ] || return 0
  set +f
  entries=0
  for entry in "$parent"/*; do entries=$((entries + 1)); done
  set -f
  [ "$entries" -le 100 ] || return 0
  own_directory "$parent" || own_directory "$parent" || own_directory "$parent" || :
}

# Changes into directory $2 inside directory $1 of the host, one component at a time, and creates missing components.
# Compares the new directory after each step, so that a link that another program put there meanwhile is detected. The
# path of $1 must have no link either, because another workload may write to the directory above it.
enter_source() {
  cd -P "/.host$1" 2>/dev/null || return 1
  [ "$(pwd -P)" = "/.host${1%/}" ] || return 1
  inside=$2/
  while [ -n "$inside" ]; do
    part=${inside%%/*}
    inside=${inside#*/}
    case $part in
    '' | .) continue ;;
    ..) return 1 ;;
    esac
    before=$(pwd -P)
    [ -d "./$part" ] || mkdir -m 755 -- "./$part" 2>/dev/null || return 1
    cd -P "./$part" 2>/dev/null || return 1
    [ "$(pwd -P)" = "${before%/}/$part" ] || return 1
  done
}

# Sets $programs to the directories of the programs of the machine and of their libraries without links, one a line.
# Missing directories are included, because a volume could be mounted there.
find_programs() {
  programs=
  searched=$PATH:/usr/local/lib:/usr/local/lib32:/usr/local/lib64
  IFS=:
  for entry in $searched; do
    if cd -P "$entry" 2>/dev/null; then
      programs=$programs$PWD$newline
    else
      resolve "$entry"
      programs=$programs$resolved$newline
    fi
  done
  IFS=$newline
  cd /
}

# Opens directory $1 as descriptor 5. Fails if it contains programs that run before the command.
open_target() {
  (cd -P "$1" 2>/dev/null) || fail "$1"
  cd -P "$1"
  exec 5<.
  place=$(pwd -P)
  case $place/ in
  / | /.host/* | /proc/* | /sys/* | /dev/ | /dev/pts/* | /etc/ | /usr/ | /nix/ | /nix/store/* | /gnu/ | /gnu/store/* | \
    /bin/* | /sbin/* | /lib/* | /lib32/* | /lib64/* | /libx32/* | /usr/bin/* | /usr/sbin/* | /usr/lib/* | \
    /usr/lib32/* | /usr/lib64/* | /usr/libx32/* | /usr/libexec/*)
    hides_programs
    ;;
  esac
  # The search path begins with directories that may be empty, or links, on a machine.
  for entry in $programs; do
    case $place/ in "$entry"/*) hides_programs ;; esac
    case $entry/ in "$place"/*) hides_programs ;; esac
  done
}

# Ends the start: a volume would be at $place.
hides_programs() {
  fail "a volume at $place would hide programs of the machine; choose another mountPath"
}

# Shows directory $2, or $4 inside it, at $3; $1 is rw or ro. A source may come from a secret, so it is not printed.
# Descriptors are mounted instead of paths that were checked before. A volume with a directory of the daemon is refused.
mount_volume() {
  provide "$3" || fail "$3"
  open_target "$3"
  volumes=$volumes$place$newline
  enter_source "$2" "$4" || fail "the volume at $3: its directory ${4:+"$4 "}does not exist, or is behind a symbolic link"
  place=$(pwd -P)
  place=${place#/.host}
  for line in $hidden; do
    case ${line%/}/ in
    "$place"/*) fail "the volume at $3 holds a directory of kedged; give it a directory of its own" ;;
    esac
  done
  if [ "$1" = ro ]; then
    [ -d /.bind ] || mkdir /.bind
    said=$(mount --no-canonicalize -o bind,ro . /.bind 2>&1) || fail "the volume at $3: $said"
    said=$(mount --no-canonicalize --move /.bind /proc/self/fd/5 2>&1) || fail "the volume at $3: $said"
  else
    said=$(mount --no-canonicalize --bind . /proc/self/fd/5 2>&1) || fail "the volume at $3: $said"
  fi
  cd /
  exec 5<&-
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
  # Only a volume of this workload may be at the path of another mount of the host.
  # shellcheck disable=SC3013
  if [ ! -e "$line" ] || { in_volume "$line" && [ ! "$line" -ef "/.host$line" ]; }; then continue; fi
  # What is below a cover is covered.
  for cover in $covered; do
    case $line/ in "${cover%/}"/*) continue 2 ;; esac
  done
  covered=$covered$line$newline
  # A mount on a file of the host ends when the file is removed there, or another is renamed to its name, which would be
  # visible then. So the file is one of a directory of ours.
  if [ ! -d "$line" ] && ! in_volume "$line"; then own_private_directory "${line%/*}"; fi
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
