# shellcheck shell=sh
# Part of enter.sh, which sources it: the root of the run. mirror plans it while the root is that of the host: the
# entries of that root, with a /proc, /sys, /dev and /run of the run, and with its directories of temporary files. The
# /proc and the /run are mounted at once. It creates mount points on tmpfs only, and the directories of temporary files
# in the folder of the run. own_directory of enter-volumes.sh calls make_entries too, after the change of root.
#
# Reads $directory, $user, $kept, $dropped, $hidden and $newline. Expects set -f, and allows globbing for its own
# patterns only. Sets $from and $to for mirror, and uses $entry, $name, $below, $dev, $run, $own and $options.

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

# Mounts a /proc of its own at $1: it shows the processes of this pid namespace, and changes nothing of the machine.
# Where an ordinary user can't mount one, plans to show that of the machine.
make_proc() {
  if ! mount -t proc -o nosuid,nodev,noexec proc "$1" 2>/dev/null; then
    echo "kedge: an ordinary user can't mount a /proc on this machine: the workload sees the processes of the machine" >&2
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

# Plans to show the entries of directory $1 of the host (or "" for its root) in directory $2, which is ours. Omitted
# mounts and files of the daemon are empty there. Further arguments are directories to make there.
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
