import { rename, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { eventually } from 'kedge/testing';
import { requireDevices } from '../drivers/devices.js';
import { BoxDaemon, everybody } from './box.js';

/** Mounts the private directory and its parent at further paths, in the namespace of the daemon. */
const mountAgain = `
set -eu
base=$1
shift
mkdir -p "$base/data/private" "$base/writable/data" "$base/alias" "$base/inside" "$base/parent"
chmod 777 "$base/writable"
echo key >"$base/data/private/kek"
echo key >"$base/key"
chmod 644 "$base/data/private/kek" "$base/key"
mount --bind "$base/data" "$base/writable/data"
mount --bind "$base/data" "$base/alias"
mount --bind "$base/data/private" "$base/inside"
mount --bind "$base" "$base/parent"
mount -t tmpfs none /mnt
: >/mnt/key
mount --bind "$base/key" /mnt/key
mount --bind "$base" /opt
exec "$@"`;

/** The private file and the key at their paths, relative to the folder of the daemon unless they are absolute. */
const paths = [
  'data/private/kek',
  'key',
  'writable/data/private/kek',
  'alias/private/kek',
  'inside/kek',
  'parent/data/private/kek',
  'parent/key',
  '/mnt/key',
  '/opt/data/private/kek',
  '/opt/key',
];

for (const who of everybody)
  describe(`private files of a daemon that are mounted at a second path, and a process workload of ${who}`, function () {
    this.timeout(60_000);
    let daemon: BoxDaemon;

    before(function () {
      requireDevices(this);
    });
    beforeEach(async () => {
      const prefix = ['unshare', '--mount', '--propagation', 'private', '--'];
      daemon = await BoxDaemon.start(
        who,
        (base) => {
          // The folder of the daemon is known only now.
          prefix.push('sh', '-c', mountAgain, 'sh', base);
          return { hiddenDirectories: [join(base, 'data'), join(base, 'key')] };
        },
        prefix,
      );
    });
    afterEach(() => daemon.close());

    const absolute = (path: string): string => join(path.startsWith('/') ? '/' : daemon.base, path);

    it('are read at none of their paths, also if the command names them', async () => {
      const script = 'for f; do cat "$f" && echo "reached: $f"; done; echo tried; exec sleep 600';
      const files = paths.map(absolute);
      await daemon.run(['/bin/sh', '-c', script, 'sh', ...files]);
      await eventually('the attempts', async () => (await daemon.log()).includes('tried'));
      // A covered file is empty, and can be read.
      expect((await daemon.log()).split('\n')).to.not.include('key');
      const { output = '' } = await daemon.exec(['/bin/sh', '-c', 'cat "$@"', 'sh', ...files]);
      expect(output.split('\n')).to.not.include('key');
    });

    it('are no working directory', async () => {
      await daemon.run(['/bin/sh', '-c', 'cat private/kek; exec sleep 600'], {
        workingDir: absolute('alias'),
      });
      await eventually('the attempt', async () => (await daemon.log()).includes('private/kek'));
      expect((await daemon.log()).split('\n')).to.not.include('key');
    });

    for (const source of ['alias', 'alias/private', 'inside', 'parent'])
      it(`are no volume: ${source}`, async () => {
        const mounts = [{ source: absolute(source), target: '/v', readOnly: true }];
        const command = ['/bin/sh', '-c', 'cat /v/kek /v/private/kek /v/data/private/kek'];
        const refused = await daemon
          .run(command, { mounts })
          .then(async (state) => `${JSON.stringify(state)} ${await daemon.log()}`, String);
        expect(refused).to.contain('the volume at /v').and.contain('of kedged');
        expect(refused.split('\n')).to.not.include('key');
      });

    it('do not cover a volume at one of those paths', async () => {
      const mounts = [
        { source: join(daemon.base, 'volume'), target: absolute('alias'), readOnly: false },
      ];
      await writeFile(join(daemon.base, 'volume/own'), 'mine\n');
      await daemon.run(['/bin/sh', '-c', 'cat "$1/own"; exec sleep 600', 'sh', absolute('alias')], {
        mounts,
      });
      await eventually('the file of the volume', async () => (await daemon.log()).includes('mine'));
    });
  });

for (const who of everybody)
  describe(`a private file that is replaced while a process workload of ${who} runs`, function () {
    this.timeout(60_000);
    let daemon: BoxDaemon;

    before(function () {
      requireDevices(this);
    });
    beforeEach(async () => {
      daemon = await BoxDaemon.start(who, (base) => ({
        hiddenDirectories: [join(base, 'data'), join(base, 'volume/key')],
        volumeDirectories: [],
      }));
      await writeFile(join(daemon.base, 'volume/key'), 'key\n');
      await writeFile(join(daemon.base, 'volume/other'), 'public\n');
      await daemon.run(['/bin/sh', '-c', 'echo up; exec sleep 600']);
      await eventually('it to run', async () => (await daemon.log()).includes('up'));
    });
    afterEach(() => daemon.close());

    /** What the workload reads in the directory of the file. */
    async function seen(): Promise<string[]> {
      const script = 'cd "$1" && cat *';
      const folder = join(daemon.base, 'volume');
      const { output = '' } = await daemon.exec(['/bin/sh', '-c', script, 'sh', folder]);
      return output.split('\n').filter(Boolean);
    }

    it('by a rename stays hidden', async () => {
      expect(await seen()).to.deep.equal(['public']);
      await writeFile(join(daemon.base, 'volume/key.new'), 'key\n');
      await rename(join(daemon.base, 'volume/key.new'), join(daemon.base, 'volume/key'));
      expect(await seen()).to.deep.equal(['public']);
    });

    it('by a new file of its name stays hidden', async () => {
      await unlink(join(daemon.base, 'volume/key'));
      await writeFile(join(daemon.base, 'volume/key'), 'key\n');
      expect(await seen()).to.deep.equal(['public']);
    });
  });
