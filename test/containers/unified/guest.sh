#!/bin/sh
# The first process of a guest kernel (User-mode Linux) whose control groups are all v2. The file system of the machine is
# its root, read-only. It runs a test file in DIRECTORY and switches the guest off.
# kernel parameters: kedge.directory=DIRECTORY kedge.spec=FILE kedge.grep=WORD
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export PATH
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t tmpfs -o mode=755 tmpfs /run
# shellcheck disable=SC2013 # the parameters are words
for word in $(cat /proc/cmdline); do
  case $word in
    kedge.directory=*) directory=${word#*=} ;;
    kedge.spec=*) spec=${word#*=} ;;
    kedge.grep=*) grep=${word#*=} ;;
  esac
done
# The checkout may be below /tmp.
mkdir /run/checkout
mount --bind "$directory" /run/checkout
mount -t tmpfs -o mode=1777 tmpfs /tmp
mount -t tmpfs -o mode=1777 tmpfs /var/tmp
mkdir -p "$directory"
mount --bind /run/checkout "$directory"
mkdir -p /dev/pts /dev/shm
mount -t devpts -o ptmxmode=666 devpts /dev/pts
mount -t tmpfs shm /dev/shm
for name in fd:fd stdin:fd/0 stdout:fd/1 stderr:fd/2; do
  ln -s "/proc/self/${name#*:}" "/dev/${name%%:*}"
done
mount -t cgroup2 cgroup2 /sys/fs/cgroup
# The container engine stores images in layers.
find /usr/lib/uml/modules -name overlay.ko -exec insmod {} \;
cd "$directory" || exit
HOME=/tmp TERM=dumb node_modules/.bin/mocha --no-config --timeout 300000 --reporter dot --no-color \
  --grep "$grep" "$spec"
echo "guest ended with $?"
echo o > /proc/sysrq-trigger
sleep 60
