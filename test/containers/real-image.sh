#!/bin/sh
# Writes an image with PostgreSQL and redis, made of the packages of this Debian machine, as a tar for `kedge image load`.
# usage: real-image.sh FILE.tar   (as root, with mmdebstrap; about a minute and 500 MB)
set -eu
file=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
name=debian-postgres:15

sources=/etc/apt/sources.list.d/debian.sources
[ -e "$sources" ] || sources=/etc/apt/sources.list

mkdir "$work/image"
mmdebstrap --quiet --variant=essential --mode=root --include=postgresql-15,redis-server \
  --dpkgopt='path-exclude=/usr/share/man/*' \
  --dpkgopt='path-exclude=/usr/share/doc/*' \
  --dpkgopt='path-exclude=/usr/share/locale/*' \
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
tar -C "$work/image" -cf "$file" manifest.json config.json layer.tar
echo "$name"
