import { writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { expect } from 'chai';
import { root } from '../acceptance/daemon.js';
import { requireDevices } from '../drivers/devices.js';
import { BoxDaemon, everybody } from './box.js';
import { half } from '../fixtures/seed.js';

/**
 * Runs a program in a copy of the machine's root whose /tmp and /var/tmp are links. In the target of the first are
 * private files, and a link to /srv, where the folder of the daemon is.
 */
const linked = `
set -eu
root=/mnt
mount -t tmpfs root "$root"
copy() {
  for path in "$1"/*; do
    if [ -L "$path" ]; then
      [ "$path" = /var/tmp ] || cp -P "$path" "$root$1"
    elif [ -d "$path" ]; then
      case $path in
      "$root" | /tmp | /var/tmp) ;;
      /var) mkdir "$root/var"; copy /var ;;
      *) mkdir "$root$path"; mount --rbind "$path" "$root$path" ;;
      esac
    fi
  done
}
copy ''
scratch=$root/scratch
mkdir -m 1777 "$scratch"
[ -L /tmp ] || case $1 in /tmp/*) mkdir -p "$scratch/\${1#/tmp/}"; mount --rbind "$1" "$scratch/\${1#/tmp/}" ;; esac
ln -s "$2" "$root/tmp"
ln -s "$3" "$root/var/tmp"
shift 3
mkdir -p "$scratch/private" "$scratch/volumes/theirs"
for file in key other-key private/file volumes/theirs/file; do echo secret >"$scratch/$file"; done
ln -s key "$scratch/link"
ln -s /srv "$scratch/of-the-machine"
mkdir "$root/.old"
cd "$root"
pivot_root . .old
umount -l /.old
cd /
exec "$@"`;

const links = [
  ['relative', 'scratch', '../tmp'],
  ['absolute', '/scratch', '/scratch'],
] as const;

for (const who of half('linked /tmp', everybody))
  for (const [kind, tmp, varTmp] of links)
    describe(`a process workload of ${who} on a machine whose /tmp is a link (${kind})`, function () {
      this.timeout(60_000);
      let daemon: BoxDaemon;

      before(async function () {
        requireDevices(this);
        const namespace = ['unshare', '--mount', '--propagation', 'private', '--'];
        const options = (base: string) => {
          const data = `/tmp/of-the-machine/${basename(base)}/data`;
          return {
            directory: `${data}/instances`,
            hiddenDirectories: [data, '/tmp/link', '/var/tmp/other-key', '/tmp/private'],
            // Those that are missing are made in the directory of the run above them.
            volumeDirectories: [
              '/tmp/volumes',
              '/tmp/later/deep',
              '/tmp/volumes/later',
              '/tmp/private/later',
            ],
          };
        };
        const script = ['sh', '-c', linked, 'sh', root, tmp, varTmp];
        daemon = await BoxDaemon.start(who, options, [...namespace, ...script]);
        await writeFile(join(daemon.base, 'data/file'), 'secret');
      });
      after(() => daemon?.close());

      it('has temporary files of its own, and sees no private file and no volume of others', async () => {
        const { base } = daemon;
        const files = ['key', 'other-key', 'link', 'private/file', 'volumes/theirs/file'];
        const paths = ['/scratch', '/tmp', '/var/tmp', '/scratch/of-the-machine'].flatMap(
          (folder) => [...files, `${basename(base)}/data/file`].map((file) => `${folder}/${file}`),
        );
        const seen = `cat ${paths.join(' ')} ${base}/data/file 2>/dev/null`;
        const folders = `/scratch/private /scratch/volumes ${base}/data`;
        const script = `ls -A /tmp; echo x >/tmp/file; cat /tmp/file; ls /scratch | grep machine; ls -d /scratch/later/deep; ls -A ${folders}; ${seen}`;
        // In the directory of a mount that is shown therefore.
        await daemon.run(['sh', '-c', script], { workingDir: base });
        await daemon.ended();
        const lists = folders
          .split(' ')
          .sort()
          .map((folder) => `${folder}:`);
        expect((await daemon.log()).split('\n').filter((line) => line !== '')).to.deep.equal([
          'x',
          'of-the-machine',
          '/scratch/later/deep',
          ...lists,
        ]);
      });
    });
