#!/bin/sh
# Runs inside the new mount namespace: builds a root of its own, binds the volumes into it, and
# becomes the workload. Nothing it creates is on the host: mount points live on tmpfs.
#
# Of the host's mounts the workload gets only those of the system (see system_mount) and those that
# its working directory and its command are on. A mount namespace keeps every mount in it busy.
#
# Each start runs this script, so it starts few programs: one that handles many files or mounts
# rather than one for each, and builtins where they do.
#
# usage: enter.sh RUN_DIRECTORY WORKING_DIRECTORY COMMAND [ARGUMENT...]
set -eu
directory=$1
workdir=$2
shift 2
tab=$(printf '\t')
newline='
'
# Why the command does not run, for whoever asks; the log has it, too.
exec 8>"$directory/refused"
refuse() {
  code=$1
  shift
  echo "kedge: $*" >&2
  echo "$*" >&8
  exit "$code"
}
fail() {
  refuse 125 "can't set up the workload's mounts: $*"
}

# Sets $user to the effective user id.
find_user() {
  while read -r field _ user _; do
    case $field in Uid:) return ;; esac
  done </proc/self/status
}

# Sets $resolved to the path without symbolic links, as far as it exists.
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

# Whether the path is a mount point that belongs to the system rather than to its owner's data.
system_mount() {
  case $1 in
  /proc | /proc/* | /sys | /sys/* | /dev | /dev/*) ;;
  /etc | /etc/* | /usr | /usr/* | /bin | /sbin | /lib | /lib/* | /lib32 | /lib64 | /libx32) ;;
  /nix | /nix/store | /gnu | /gnu/store | /home | /opt | /root | /tmp) ;;
  /run | /run/lock | /run/shm | /run/user | "/run/user/$user") ;;
  /var | /var/cache | /var/lib | /var/log | /var/opt | /var/spool | /var/tmp) ;;
  *) return 1 ;;
  esac
}

# Sets $hidden to the directories of the daemon, one a line.
find_hidden() {
  hidden=
  while IFS= read -r line; do
    resolve "$line"
    hidden=$hidden$resolved$newline
  done <"$directory/hidden"
}

# Whether the path is a directory of the daemon or below one.
hidden_from_it() {
  for line in $hidden; do
    case $1/ in "${line%/}"/*) return 0 ;; esac
  done
  return 1
}

# Sets $words to the absolute paths that the workload is started with, each between a newline and a slash.
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
  # At once: a shell reads a file byte by byte.
  # shellcheck disable=SC2013
  for line in $(cat /proc/self/mountinfo); do
    # The fifth field.
    line=${line#* * * * }
    target=${line%% *}
    case $target in *\\*) target=$(printf '%b.' "$target") && target=${target%.} ;; esac
    case $target in / | *"$newline"*) continue ;; esac
    list=dropped
    if system_mount "$target"; then
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

# Sets $word to path $1 as a table of mounts has it.
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
  printf '%s %s %s %s 0 0\n' "$planned" "$word" "$3" "$4" >&3
}

# Makes the mounts of table $1, in their order.
make_planned() {
  exec 3>&-
  said=$(mount --all --fstab "$1" 2>&1) || fail "$said"
}

# Plans to show directory $1 of the host at directory $2, with the mounts below it that the workload gets.
show_directory() {
  case $1 in
  /proc | /sys | /dev)
    plan "$1" "$2" none rbind
    return
    ;;
  esac
  # A tmpfs covers it later.
  if hidden_from_it "$1"; then return; fi
  if [ "$user" = 0 ]; then
    plan "$1" "$2" none bind
    case $kept in *"$newline$1/"*) ;; *) return 0 ;; esac
    for below in $kept; do
      case $below in "$1"/*) [ ! -e "$below" ] || plan "$below" "$2${below#"$1"}" none bind ;; esac
    done
    return
  fi
  # An ordinary user can't leave out or unmount a single mount of the host. Directories that hold such
  # ones are made anew, entry by entry, unless that would take the user's own writes away.
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
  plan "$1" "$2" none rbind
}

# Makes entries for those of directory $1 (or "" for the root) in directory $2, which is ours, and the
# directories that further arguments name. Lists of more than some hundreds are worked off in parts.
make_entries() {
  from=$1
  to=$2
  shift 2
  set +f
  for entry in "$from"/* "$from"/.[!.]* "$from"/..?*; do
    if [ -L "$entry" ]; then continue; fi
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
    if [ -L "$entry" ]; then set -- "$@" "$entry"; fi
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
    if [ -L "$entry" ]; then
      continue
    elif [ -d "$entry" ]; then
      case $dropped in
      *"$newline$entry$newline"*) ;;
      *) show_directory "$entry" "$to/$name" ;;
      esac
    elif [ -e "$entry" ]; then
      plan "$entry" "$to/$name" none bind
    fi
  done
}

# Makes directory $1 exist without writing to the host: the deepest directory that exists is
# covered by a tmpfs that shows the same entries, unless it is ours already.
provide() {
  existing=$1
  while [ ! -d "$existing" ]; do existing=$(dirname "$existing"); done
  [ "$existing" = "$1" ] && return
  resolve "$existing"
  existing=$resolved
  device=$(stat -c %d "$existing")
  [ -n "$ours" ] || ours=$(stat -c %d /)
  case " $ours " in
  *" $device "*) ;;
  *)
    [ -d /.covered ] || mkdir /.covered
    mount --rbind "$existing" /.covered
    mount -t tmpfs -o mode=0755,size=16m kedge "$existing"
    ours="$ours $(stat -c %d "$existing")"
    make_entries /.covered "$existing"
    exec 3>"/.host$directory/covered"
    set +f
    for entry in /.covered/* /.covered/.[!.]* /.covered/..?*; do
      name=${entry##*/}
      if [ -L "$entry" ]; then
        continue
      elif [ -d "$entry" ]; then
        plan "$entry" "$existing/$name" none rbind
      elif [ -e "$entry" ]; then
        plan "$entry" "$existing/$name" none bind
      fi
    done
    set -f
    make_planned "/.host$directory/covered"
    umount -l /.covered
    ;;
  esac
  mkdir -p "$1"
}

# Runs a mount of the bind from $source to $target. A source may come from a secret: it is not told.
mount_volume() {
  said=$(mount "$@" 2>&1) && return
  while :; do
    case $said in
    *"$source"*) said=${said%%"$source"*}'(its source)'${said#*"$source"} ;;
    *) break ;;
    esac
  done
  fail "the volume at $target: $said"
}

# Lists of paths have one a line, and no path is a pattern.
find_user
set -f
IFS=$newline

case $1 in
*/*) program= ;;
*) program=$(PATH=$KEDGE_WORKLOAD_PATH; command -v "$1" || :) ;;
esac
find_hidden
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
while IFS=$tab read -r mode source target; do
  provide "$target" || fail "$target"
  mount_volume --bind "/.host$source" "$target"
  if [ "$mode" = ro ]; then mount_volume -o remount,bind,ro "$target"; fi
done <"/.host$directory/binds"

# The daemon's own files (keys, database, other workloads' secrets) are no business of a workload.
exec 3>"/.host$directory/covers"
while IFS= read -r line; do
  [ ! -d "$line" ] || plan kedge "$line" tmpfs ro,mode=0555,size=4k
done <"/.host$directory/hidden"
make_planned "/.host$directory/covers"
umount -l /.host
rmdir /.host
[ ! -d /.covered ] || rmdir /.covered

cd "$workdir" 2>/dev/null || refuse 125 "its working directory $workdir does not exist, or can't be entered"
case $1 in
*/*)
  if [ -d "$1" ]; then refuse 126 "command $1 is a directory"; fi
  if [ ! -e "$1" ]; then refuse 127 "command $1 does not exist"; fi
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
# Its variables are set last: none of them reaches a program above.
if [ "$user" != 0 ]; then
  # The capabilities were for the mounts only.
  exec setpriv --ambient-caps=-all --inh-caps=-all -- /bin/sh -c "$KEDGE_BECOME" kedge "$@"
fi
exec /bin/sh -c "$KEDGE_BECOME" kedge "$@"
