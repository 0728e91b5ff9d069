# shellcheck shell=sh
# Part of enter.sh, which sources it: paths without links, and what holds them. It mounts and creates nothing. enter.sh
# calls resolve_missing, find_paths and find_words while the root is that of the host, and the others also later.
#
# Reads $directory, $newline, $hidden and, in in_volume, $volumes.
# Sets the results $resolved, $found and $words, and uses $above, $line, $word, $private and $volume.

# Sets $resolved to the path without symbolic links. Empty if the path has a link, a // or a . or .. component, and more
# than its last component is missing.
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

# Whether the path is a directory of the daemon or below one.
hidden_from_it() {
  for private in $hidden; do
    case $1/ in "${private%/}"/*) return 0 ;; esac
  done
  return 1
}

# Sets $words to the absolute paths among the arguments, as given and without links, each between a newline and a slash.
# The path / and paths with a newline are omitted.
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

# Whether path $1 is in a volume that was mounted.
in_volume() {
  for volume in $volumes; do
    case $1/ in "${volume%/}"/*) return 0 ;; esac
  done
  return 1
}
