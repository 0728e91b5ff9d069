import { expect } from 'chai';
import { root } from '../acceptance/daemon.js';
import { requireDevices } from '../drivers/devices.js';
import { BoxDaemon, everybody } from './box.js';

/** Runs a program in a copy of the machine's root whose /tmp is a link to a directory with a file. */
const linked = `
set -eu
root=/mnt
mount -t tmpfs root "$root"
for path in /*; do
  name=\${path#/}
  if [ -L "$path" ]; then cp -P "$path" "$root"
  elif [ "$name" != tmp ] && [ "$path" != "$root" ] && [ -d "$path" ]; then mkdir "$root/$name"; mount --rbind "$path" "$root/$name"
  fi
done
mkdir -m 1777 "$root/scratch"
ln -s scratch "$root/tmp"
touch "$root/scratch/of-the-machine"
case $1 in /tmp/*) mkdir -p "$root/tmp/\${1#/tmp/}"; mount --rbind "$1" "$root/tmp/\${1#/tmp/}" ;; esac
mkdir "$root/.old"
cd "$root"
pivot_root . .old
umount -l /.old
shift
cd /
exec "$@"`;

for (const who of everybody)
  describe(`a process workload of ${who} on a machine whose /tmp is a link`, function () {
    this.timeout(60_000);
    let daemon: BoxDaemon;

    before(async function () {
      requireDevices(this);
      const namespace = ['unshare', '--mount', '--propagation', 'private', '--'];
      daemon = await BoxDaemon.start(who, {}, [...namespace, 'sh', '-c', linked, 'sh', root]);
    });
    after(() => daemon?.close());

    it('has temporary files of its own', async () => {
      await daemon.run(['sh', '-c', 'ls -A /tmp; echo x >/tmp/file; cat /tmp/file; ls /scratch']);
      await daemon.ended();
      expect((await daemon.log()).split('\n').slice(0, 2)).to.deep.equal(['x', 'of-the-machine']);
    });
  });
