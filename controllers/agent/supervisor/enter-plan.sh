# shellcheck shell=sh
# Part of enter.sh, which sources it: which mounts of the host the workload gets, and tables of mounts that one program
# makes at once. The table that is being written is descriptor 3, which enter.sh or own_directory opens, and
# make_planned or own_directory closes. Of the functions here only make_planned mounts.
#
# Reads $user, $words, $hidden, $listed, $tab and $newline.
# Sets the results $kept, $dropped, $flags, $options, $shared and $word, and uses $line, $line_target, $target, $list,
# $longest, $found, $planned, $rest, $said and $cover.

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

# Sorts the host's mounts, except those at /, /tmp and /var/tmp, into the lists of paths $kept and $dropped, each path
# between newlines. Sets $flags to the options of all mounts.
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
