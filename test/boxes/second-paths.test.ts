import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, mkdir, rename, rm, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { eventually } from 'kedge/testing';
import { requireDevices } from '../drivers/devices.js';
import { BoxDaemon, everybody, uidOf } from './box.js';
import { half } from '../fixtures/seed.js';

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

const users = half('second paths', everybody);

for (const who of users)
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

for (const who of users)
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

for (const who of users)
  describe(`private paths that appear while a process workload of ${who} runs`, function () {
    this.timeout(60_000);
    let daemon: BoxDaemon;
    const hidden = ['conf/tokens', 'conf/missing', 'conf/socket', 'conf/above/missing'];

    before(function () {
      requireDevices(this);
    });
    beforeEach(async () => {
      daemon = await BoxDaemon.start(who, (base) => ({
        hiddenDirectories: ['data', ...hidden].map((path) => join(base, path)),
      }));
      await mkdir(join(daemon.base, 'conf/tokens'), { recursive: true });
      await writeFile(join(daemon.base, 'conf/other'), 'public\n');
      await daemon.run(['/bin/sh', '-c', 'echo up; exec sleep 600']);
      await eventually('it to run', async () => (await daemon.log()).includes('up'));
    });
    afterEach(() => daemon.close());

    /** Creates a file on the host, and returns what the workload reads there and at `conf/other`. */
    async function seen(path: string): Promise<string[]> {
      await mkdir(join(daemon.base, path, '..'), { recursive: true });
      await writeFile(join(daemon.base, path), 'key\n');
      const script = 'cat "$1" "$2"';
      const files = [path, 'conf/other'].map((file) => join(daemon.base, file));
      const { output = '' } = await daemon.exec(['/bin/sh', '-c', script, 'sh', ...files]);
      return output.split('\n').filter((line) => ['key', 'public'].includes(line));
    }

    it('stay hidden: a directory that is removed and made again', async () => {
      await rm(join(daemon.base, 'conf/tokens'), { recursive: true });
      expect(await seen('conf/tokens/key')).to.deep.equal(['public']);
    });

    it('stay hidden: a directory that was missing', async () => {
      expect(await seen('conf/missing/key')).to.deep.equal(['public']);
    });

    it('stay hidden: a directory whose parent was missing too', async () => {
      expect(await seen('conf/above/missing/key')).to.deep.equal(['public']);
    });

    it('stay hidden: a file or socket that was missing', async () => {
      expect(await seen('conf/socket')).to.deep.equal(['public']);
    });
  });

describe('a directory that is shown entry by entry in the sandbox of root', function () {
  this.timeout(60_000);
  let daemon: BoxDaemon;

  before(function () {
    requireDevices(this);
  });
  beforeEach(async () => {
    daemon = await BoxDaemon.start('root', (base) => ({
      hiddenDirectories: ['data', 'conf/tokens'].map((path) => join(base, path)),
    }));
    await mkdir(join(daemon.base, 'conf/tokens'), { recursive: true });
    await mkdir(join(daemon.base, 'plain'));
    for (const folder of ['conf', 'plain'])
      await writeFile(join(daemon.base, folder, 'other'), 'public\n');
  });
  afterEach(() => daemon.close());

  /** What another user reads in a directory with this mode and group. */
  async function read(folder: string, mode: number, group: number): Promise<string> {
    const path = join(daemon.base, folder);
    await chown(path, 0, group);
    await chmod(path, mode);
    const command = ['/bin/sh', '-c', 'cat "$1"; echo tried', 'sh', join(path, 'other')];
    const source = join(daemon.base, 'volume');
    const mounts =
      folder === 'plain' ? [{ source, target: join(path, 'volume'), readOnly: false }] : [];
    await daemon.run(command, { user: '12345:23456', mounts });
    await eventually('the attempt', async () => (await daemon.log()).includes('tried'));
    return daemon.log();
  }

  for (const [folder, why] of [
    ['conf', 'that has a private path'],
    ['plain', 'that lacks the directory of a volume'],
  ] as const) {
    it(`can be entered by those who can enter it on the host: one ${why}`, async () => {
      expect(await read(folder, 0o750, 23_456)).to.contain('public');
    });

    it(`can be entered by nobody else: one ${why}`, async () => {
      expect(await read(folder, 0o750, 0))
        .to.contain('Permission denied')
        .and.not.contain('public');
    });
  }
});

for (const who of users)
  describe(`the directory of a private file does not prevent the start of a process workload of ${who}`, function () {
    this.timeout(60_000);
    let daemon: BoxDaemon | undefined;

    before(function () {
      requireDevices(this);
    });
    afterEach(() => daemon?.close());

    async function start(key: (base: string) => string): Promise<string> {
      let file = '';
      daemon = await BoxDaemon.start(who, (base) => {
        file = key(base);
        return { hiddenDirectories: [join(base, 'data'), file] };
      });
      return file;
    }

    /** Requires that the workload runs and that the file is empty for it. */
    async function requireHidden(file: string): Promise<void> {
      const state = await daemon!.run(['/bin/sh', '-c', 'echo up; exec sleep 600']);
      expect(state, await daemon!.log()).to.include({ state: 'running' });
      const { output = '' } = await daemon!.exec(['/bin/sh', '-c', 'cat "$1"', 'sh', file]);
      expect(output).to.not.contain('key');
    }

    it('if it is the root directory', async () => {
      const file = await start(() => `/kedge-test-key-${process.pid}`);
      await writeFile(file, 'key\n');
      try {
        await requireHidden(file);
      } finally {
        await rm(file);
      }
    });

    it('if it can be entered and not listed', async () => {
      const file = await start((base) => join(base, 'private/key'));
      const folder = join(file, '..');
      await mkdir(folder);
      for (const path of [file, join(folder, 'other')]) await writeFile(path, 'key\n');
      await chown(file, uidOf(who), uidOf(who));
      await chown(folder, 0, uidOf(who));
      await chmod(folder, 0o710);
      await requireHidden(file);
    });

    it('if other files come and go in it', async () => {
      const file = await start((base) => join(base, 'volume/key'));
      await writeFile(file, 'key\n');
      const script = 'echo up; while :; do : >"$1.1"; : >"$1.2"; rm "$1.1" "$1.2"; done';
      const busy = spawn('sh', ['-c', script, 'sh', file], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      await once(busy.stdout, 'data');
      try {
        await requireHidden(file);
      } finally {
        busy.kill('SIGKILL');
        await once(busy, 'exit');
      }
    });
  });
