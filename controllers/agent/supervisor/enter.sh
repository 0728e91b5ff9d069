#!/bin/sh
# Runs inside the new mount namespace: builds a root of its own, binds the volumes into it, and
# becomes the workload. Nothing it creates is on the host: mount points live on tmpfs.
#
# Of the host's mounts the workload gets only those of the system (see system_mount) and those that
# its working directory and its command are on. A mount namespace keeps every mount in it busy.
#
# usage: enter.sh RUN_DIRECTORY WORKING_DIRECTORY COMMAND [ARGUMENT...]
set -eu
directory=$1
workdir=$2
shift 2
user=$(id -u)
newline='
'
fail() {
  echo "kedge: can't set up the workload's mounts: $*" >&2
  exit 125
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

# Whether the path is a directory of the daemon or below one.
hidden_from_it() {
  while IFS= read -r line; do
    case $1/ in "${line:-//}"/*) return 0 ;; esac
  done <<END
$hidden
END
  return 1
}

# Sorts the host's mounts into two lists of paths, each path between newlines.
kept=$newline
dropped=$newline
sort_mounts() {
  while read -r _ _ _ _ target _; do
    case $target in *\\*) target=$(printf '%b' "$target") ;; esac
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
  done </proc/self/mountinfo
}

# Shows directory $1 of the host at directory $2, with the mounts below it that the workload gets.
show_directory() {
  case $1 in
  /proc | /sys | /dev)
    mount --rbind "$1" "$2"
    return
    ;;
  esac
  # A tmpfs covers it later.
  if hidden_from_it "$1"; then return; fi
  if [ "$user" = 0 ]; then
    mount --bind "$1" "$2"
    case $kept in *"$newline$1/"*) ;; *) return 0 ;; esac
    while IFS= read -r below; do
      case $below in "$1"/*) [ ! -e "$below" ] || mount --bind "$below" "$2${below#"$1"}" ;; esac
    done <<END
$kept
END
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
  mount --rbind "$1" "$2"
}

# Shows every entry of directory $1 of the host (or "" for its root) in directory $2, which is ours.
mirror() {
  for entry in "$1"/* "$1"/.[!.]* "$1"/..?*; do
    name=${entry##*/}
    if [ -L "$entry" ]; then
      ln -s "$(readlink "$entry")" "$2/$name"
    elif [ -d "$entry" ]; then
      mkdir "$2/$name"
      case $dropped in
      *"$newline$entry$newline"*) ;;
      *) show_directory "$entry" "$2/$name" ;;
      esac
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
    mount --rbind "$existing" /.covered
    mount -t tmpfs -o mode=0755,size=16m kedge "$existing"
    ours="$ours $(stat -c %d "$existing")"
    for entry in /.covered/* /.covered/.[!.]* /.covered/..?*; do
      name=${entry##*/}
      if [ -L "$entry" ]; then
        ln -s "$(readlink "$entry")" "$existing/$name"
      elif [ -d "$entry" ]; then
        mkdir "$existing/$name"
        mount --rbind "$entry" "$existing/$name"
      elif [ -e "$entry" ]; then
        : >"$existing/$name"
        mount --bind "$entry" "$existing/$name"
      fi
    done
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

hidden=$(while IFS= read -r line; do readlink -f "$line" || :; done <"$directory/hidden")
# What the workload is started with, each word between a newline and a slash.
words=$newline
for word in "$workdir" "$(PATH=$KEDGE_WORKLOAD_PATH; command -v "$1" || :)" "$@"; do
  case $word in *"$newline"*) ;; /*) words="$words$word/$newline$(readlink -f "$word" || :)/$newline" ;; esac
done
sort_mounts

root=$directory/root
mkdir -p "$root"
mount -t tmpfs -o mode=0755,size=16m kedge "$root" || fail "no tmpfs"
# Else a directory of the host above it would be shown with this half of a root inside.
mount --make-unbindable "$root"
mirror "" "$root"
mkdir "$root/.host" "$root/.covered"
cd "$root"
pivot_root . .host || fail "pivot_root"
cd /
mount --make-private /
ours=$(stat -c %d /)

tab=$(printf '\t')
while IFS=$tab read -r mode source target; do
  provide "$target" || fail "$target"
  mount_volume --bind "/.host$source" "$target"
  if [ "$mode" = ro ]; then mount_volume -o remount,bind,ro "$target"; fi
done <"/.host$directory/binds"

# The daemon's own files (keys, database, other workloads' secrets) are no business of a workload.
while IFS= read -r line; do
  [ -d "$line" ] || continue
  mount -t tmpfs -o ro,mode=0555,size=4k kedge "$line" || fail "hiding $line"
done <"/.host$directory/hidden"
umount -l /.host
rmdir /.host /.covered

cd "$workdir" || fail "working directory $workdir does not exist"
PATH=$KEDGE_WORKLOAD_PATH
unset KEDGE_WORKLOAD_PATH OLDPWD
if [ "$user" != 0 ]; then
  # The capabilities were for the mounts only.
  exec setpriv --ambient-caps=-all --inh-caps=-all -- "$@"
fi
exec "$@"
