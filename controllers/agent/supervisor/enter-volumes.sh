# shellcheck shell=sh
# Part of enter.sh, which sources it: the mounts of volumes, after the change of root, while the root of the host is at
# /.host. On the host it creates files and directories in the folder of the run, and the missing directories of a
# subPath in a volume.
#
# Reads $directory, $user, $hidden and $newline. enter.sh sets $ours, $made and $volumes to nothing before.
# Sets $volumes to the targets of the volumes that were mounted, $made to the directories that own_directory covered,
# last first, $ours to the devices of the root and of these, and $programs. Uses $existing, $device, $entry, $entries,
# $name, $before, $inside, $parent, $part, $place, $line, $rights, $said and $searched, and the descriptors 3 and 5.

# Makes directory $1 exist without writing to the host or a volume: the deepest directory that exists is
# covered by a tmpfs that shows the same entries, unless it is ours already. It has the mode and the owner of that
# directory, see find_rights.
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
  find_rights "$existing" || fail "$existing"
  own_directory "$existing" "$rights" || own_directory "$existing" "$rights" ||
    # Without its owner, which may not exist in the user namespace of a kedged in a container.
    own_directory "$existing" "${rights%%,*}" || fail "$said"
  mkdir -p "$1"
}

# Sets $rights to options of mount for a tmpfs at directory $1: its mode and its owner, so that who can't enter it on the
# host can't enter it here. All processes of an ordinary user's workload are of this user. Fails if it was removed.
find_rights() {
  rights=mode=0755
  [ "$user" != 0 ] || rights=$(stat -c 'mode=0%a,uid=%u,gid=%g' "$1")
}

# Covers directory $1, a path without links, with a tmpfs that shows the same entries, unless it is ours already. Files of
# the daemon are empty there. $2 has its mode and owner as options of mount. Fails, and sets $said, if an entry is removed
# meanwhile, or if it can't have this owner.
own_directory() {
  existing=$1
  device=$(stat -c %d "$existing") || fail "$existing"
  [ -n "$ours" ] || ours=$(stat -c %d /)
  case " $ours " in *" $device "*) return ;; esac
  # Made elsewhere and moved: mount(8) would skip the entries that are mount points, such as volumes, as mounted already.
  [ -d /.made ] || mkdir /.made
  said=$(mount -t tmpfs -o "$2,size=16m" kedge /.made 2>&1) || return 1
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

# Covers the directory of path $1 of the daemon as own_directory, or the deepest one above it that exists, if it can be
# listed, has few entries, and they stay for a moment. Otherwise only what is at the path is covered, until it is replaced
# on the host. The data directory, which has this run, is not replaced while runs are in it.
own_private_directory() {
  case $directory/ in "${1%/}"/*) return 0 ;; esac
  parent=${1%/*}
  while [ ! -d "$parent/" ]; do parent=${parent%/*}; done
  parent=${parent:-/}
  case $parent/ in
  # These are of the run or show no files, so that no private one appears there later.
  // | /run/* | /tmp/* | /var/tmp/* | /proc/* | /sys/* | /dev/*) return 0 ;;
  esac
  if in_volume "$parent" || ! [ -r "$parent" ] || ! [ -x "$parent" ]; then return 0; fi
  set +f
  entries=0
  for entry in "$parent"/*; do entries=$((entries + 1)); done
  set -f
  [ "$entries" -le 100 ] || return 0
  find_rights "$parent" || return 0
  own_directory "$parent" "$rights" || own_directory "$parent" "$rights" || own_directory "$parent" "$rights" || :
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

# Sets $programs to the directories of PATH and of the libraries in /usr/local, without links, one a line. Missing
# directories are included, because a volume could be mounted there.
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
