#!/bin/sh
# Writes an image with PostgreSQL and redis, made of the packages of this Debian machine, as a tar for `kedge image load`.
# The user postgres has the number that it has in the image of PostgreSQL on Docker Hub.
# usage: real-image.sh FILE.tar [NAME]   (as root, with mmdebstrap; about a minute and 400 MB)
set -eu
file=$1
name=${2:-debian-postgres:15}
work=$(mktemp -d)
# Tests that wait for the file see a failure by the second one.
finish() {
  [ -e "$file" ] || touch "$file.failed"
  rm -rf "$work"
}
trap finish EXIT

sources=/etc/apt/sources.list.d/debian.sources
[ -e "$sources" ] || sources=/etc/apt/sources.list

mkdir "$work/image"
# shellcheck disable=SC2016,SC1091 # the hooks expand their argument themselves
mmdebstrap --quiet --variant=essential --mode=root --include=postgresql-15,redis-server \
  --dpkgopt='path-exclude=/usr/share/man/*' \
  --dpkgopt='path-exclude=/usr/share/doc/*' \
  --dpkgopt='path-exclude=/usr/share/locale/*' \
  --essential-hook='echo "postgres:x:999:999::/var/lib/postgresql:/bin/sh" >> "$1/etc/passwd"' \
  --essential-hook='echo "postgres:x:999:" >> "$1/etc/group"' \
  --customize-hook='rm -rf "$1"/var/lib/postgresql/15 "$1"/var/cache/apt "$1"/var/lib/apt/lists' \
  "$(. /etc/os-release && echo "$VERSION_CODENAME")" "$work/image/layer.tar" "$sources"

# The form of docker save: a layer, its configuration and their list.
layer=$(sha256sum "$work/image/layer.tar" | cut -d ' ' -f 1)
case $(dpkg --print-architecture) in
  arm64) architecture=arm64 ;;
  *) architecture=amd64 ;;
esac
cat > "$work/image/config.json" <<JSON
{
  "architecture": "$architecture",
  "os": "linux",
  "config": {
    "Env": ["PATH=/usr/lib/postgresql/15/bin:/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8"],
    "User": "postgres",
    "StopSignal": "SIGINT"
  },
  "rootfs": { "type": "layers", "diff_ids": ["sha256:$layer"] }
}
JSON
cat > "$work/image/manifest.json" <<JSON
[{ "Config": "config.json", "RepoTags": ["$name"], "Layers": ["layer.tar"] }]
JSON
tar -C "$work/image" -cf "$file.part" manifest.json config.json layer.tar
mv "$file.part" "$file"
echo "$name"
