import { execFileSync, spawn } from 'node:child_process';
import {
  mkdir,
  mkdtemp,
  open,
  readdir,
  readFile,
  rename,
  rm,
  symlink,
  truncate,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { LevelEngine, MemoryEngine, modify, openStore } from 'kedge';
import { eventually } from 'kedge/testing';
import {
  isPending,
  memoryOperations,
  type ProvisionResult,
  readMountTable,
  type RunCommand,
  runCommand,
} from '@kedge/driver-sdk';
import { snapshots, volumes } from '@kedge/controllers';
import { cleanUp, requireDevices } from './devices.js';
import { LoopBlock } from './loop-block.js';
import { TestNode } from './node.js';

const holder = fileURLToPath(new URL('volume-holder.js', import.meta.url));

describe('block volumes on real devices', function () {
  this.timeout(180_000);
  let folder: string;
  let block: LoopBlock;
  let node: TestNode;
  let run: RunCommand;

  before(function () {
    requireDevices(this);
  });
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kedge-block-'));
    run = runCommand;
    block = new LoopBlock({ directory: folder, deviceWaitMs: 300 });
    const store = await openStore({ engine: new MemoryEngine() });
    const through: RunCommand = (command, args, signal) => run(command, args, signal);
    node = await new TestNode({
      store,
      driver: block.driver,
      directory: folder,
      run: through,
    }).start();
  });
  afterEach(async () => {
    await node.stop();
    await node.store.close();
    await cleanUp(folder);
  });

  const mounts = async (): Promise<readonly string[]> =>
    (await readMountTable()).map((e) => e.target).filter((t) => t.startsWith(folder));
  const reason = (promise: Promise<unknown>): Promise<string> =>
    promise.then(
      () => 'ok',
      (error: unknown) => String(error),
    );

  for (const [fsType, size] of [
    ['ext4', '16Mi'],
    ['xfs', '320Mi'],
  ] as const)
    it(`${fsType}: formatted once, keeps its bytes, grows at the next mount`, async () => {
      await node.make('v', size, { fsType });
      const path = await node.mount('a', 'v');
      await writeFile(join(path, 'x'), 'kept');
      expect(await node.volume('v')).to.include({ status: 'Bound', formatted: true });
      await node.release('a');
      expect(await mounts()).to.deep.equal([]);
      expect(await node.volume('v')).to.include({ status: 'Available', boundClaim: '' });
      const larger = `${Number.parseInt(size, 10) * 2}Mi`;
      const grown = { namespace: 'default', name: 'v' };
      await modify(node.store, volumes, grown, (current) => ({ ...current, size: larger }));
      await node.until('v', (v) => v?.sizeBytes === String(Number.parseInt(size, 10) * 2 ** 21));
      const again = await node.mount('a', 'v');
      expect(await readFile(join(again, 'x'), 'utf8')).to.equal('kept');
      const [, blocks = ''] = execFileSync('df', ['-B1M', '--output=size', again], {
        encoding: 'utf8',
      }).split('\n');
      expect(Number(blocks)).to.be.greaterThan(Number.parseInt(size, 10) * 1.2);
      await node.release('a');
    });

  it('an existing volume is found by its handle, and has its data under the identity with which it is imported', async () => {
    const { driver } = block;
    const { signal } = new AbortController();
    const volume = { uid: 'earlier', name: 'v', namespace: 'default' };
    const call = { volume, parameters: {}, node: 'n', signal, operations: memoryOperations() };
    const asked = { sizeBytes: 2n ** 24n, accessMode: 'ReadWriteOnce', topology: {} } as const;
    const { handle } = (await driver.provision({ ...call, ...asked })) as ProvisionResult;
    const found = await driver.find?.({ parameters: {}, node: 'n', signal, handle });
    expect(found).to.include({ handle, name: 'earlier', sizeBytes: 2n ** 24n });
    const absent = driver.find?.({ parameters: {}, node: 'n', signal, handle: 'absent' });
    expect(await reason(Promise.resolve(absent))).to.contain('absent does not exist');
    const imported = { uid: 'later', name: 'w', namespace: 'default', importedAs: 'earlier' };
    const later = { ...call, volume: imported, handle };
    expect(await driver.observe(later)).to.include({ sizeBytes: 2n ** 24n });
    expect(await driver.attach(later)).to.deep.equal({ devicePath: block.link('earlier') });
    expect(
      await reason(driver.attach({ ...later, volume: { ...imported, importedAs: 'x' } })),
    ).to.contain('is not of volume x');
    await driver.detach(later);
    await driver.delete(later);
    expect(await block.inventory()).to.deep.equal([]);
  });

  it('rule 11: a node whose name matches no instance or two attaches nothing, with a reason, until the names are corrected', async () => {
    const instances = new Map<string, readonly string[]>([['other', ['i-3']]]);
    const named = new LoopBlock({ directory: folder, deviceWaitMs: 300, instances });
    await node.stop();
    node = await new TestNode({
      store: node.store,
      driver: named.driver,
      directory: folder,
    }).start();
    await node.make('v', '16Mi');
    const refused = await reason(node.mount('a', 'v'));
    expect(refused).to.match(
      /no instance in zone "here" is node "n1" \(looked up by instance id, Name tag\)/,
    );
    instances.set('n1', ['i-2', 'i-1', 'i-1']);
    const several = await reason(node.mount('a', 'v'));
    expect(several).to.match(/2 instances in zone "here" match node "n1" by Name tag: i-1, i-2/);
    expect(await node.volume('v')).to.include({ status: 'Available' });
    expect(await named.inventory()).to.have.length(1);
    // An id takes precedence over names.
    instances.set('other', ['n1']);
    await writeFile(join(await node.mount('a', 'v'), 'x'), 'kept');
    await node.release('a');
    // Detaching from a deleted instance succeeds.
    await node.mount('a', 'v');
    instances.clear();
    await node.release('a');
    expect(await node.volume('v')).to.include({ status: 'Available', boundClaim: '' });
  });

  it('a device with foreign data, a partition table or without a readable head is refused, never formatted', async () => {
    const contents: Record<string, (image: string) => Promise<unknown>> = {
      'data without a known format': async (image) => {
        const file = await open(image, 'r+');
        await file.write(Buffer.alloc(4096, 0xa7), 0, 4096, 8192);
        await file.close();
      },
      'a partition table': async (image) => {
        const sector = Buffer.alloc(512);
        // One Linux partition of 2048 sectors from sector 2048, and the boot signature.
        sector.set([0, 0, 2, 0, 0x83, 0, 3, 0, 0, 8, 0, 0, 0, 8, 0, 0], 446);
        sector.set([0x55, 0xaa], 510);
        const file = await open(image, 'r+');
        await file.write(sector, 0, 512, 0);
        await file.close();
      },
      "can't be read": async (image) => {
        // Attached at its size, then the provider loses the blocks: reads fail.
        execFileSync('losetup', ['--find', image]);
        await truncate(image, 0);
      },
    };
    for (const [message, spoil] of Object.entries(contents)) {
      const name = `v${Object.keys(contents).indexOf(message)}`;
      const { metadata } = await node.make(name, '16Mi');
      await spoil(block.image(metadata.uid));
      const before = await readFile(block.image(metadata.uid));
      expect(await reason(node.mount('a', name)), message).to.contain(message);
      expect(before.equals(await readFile(block.image(metadata.uid))), message).to.equal(true);
      expect(await mounts()).to.deep.equal([]);
    }
  });

  it('a blank device of a volume that was formatted before is refused', async () => {
    const { metadata } = await node.make('v', '16Mi');
    await node.mount('a', 'v');
    await node.release('a');
    await truncate(block.image(metadata.uid), 0);
    await truncate(block.image(metadata.uid), 16 * 1024 * 1024);
    expect(await reason(node.mount('a', 'v'))).to.contain('was formatted before');
  });

  it('a link that leads to another device is refused', async () => {
    const { metadata } = await node.make('v', '16Mi');
    const other = join(folder, 'other');
    await writeFile(other, '');
    await truncate(other, 16 * 1024 * 1024);
    const device = execFileSync('losetup', ['--find', '--show', other], { encoding: 'utf8' });
    const { driver } = block;
    const attach = driver.attach.bind(driver);
    Object.assign(driver, {
      attach: async (request: Parameters<typeof attach>[0]) => {
        const result = await attach(request);
        if (isPending(result)) return result;
        // udev's link is stale: it still refers to the device of the previous volume.
        await rm(result.devicePath);
        await symlink(device.trim(), result.devicePath);
        return result;
      },
    });
    expect(await reason(node.mount('a', 'v'))).to.contain('the serial of another volume');
    expect((await readFile(other)).every((byte) => byte === 0)).to.equal(true);
    expect(await block.inventory()).to.include(metadata.uid);
  });

  it('a device that does not appear is awaited, then reported; the volume stays Available', async () => {
    await node.make('v', '16Mi');
    const { driver } = block;
    Object.assign(driver, { attach: async () => ({ devicePath: join(folder, 'nowhere') }) });
    expect(await reason(node.mount('a', 'v'))).to.contain('did not appear');
    expect((await node.volume('v'))?.status).to.equal('Available');
    expect((await node.volume('v'))?.lastOperation).to.include({
      call: 'attach',
      outcome: 'Unavailable',
    });
  });

  it('a busy volume stays attached, and its holder is named', async () => {
    await node.make('v', '16Mi');
    const path = await node.mount('a', 'v');
    const file = await open(join(path, 'held'), 'w');
    const refusal = await reason(node.release('a'));
    expect(refusal).to.match(new RegExp(`busy, held by pid ${process.pid} \\(`));
    expect(await node.volume('v')).to.include({ status: 'Bound', boundClaim: 'default/a' });
    expect(await mounts()).to.have.length(2);
    await file.close();
    await node.release('a');
    expect((await node.volume('v'))?.status).to.equal('Available');
  });

  it('is not detached while another mount namespace has it mounted', async () => {
    await node.make('v', '16Mi');
    const path = await node.mount('a', 'v');
    const script = 'echo ready; read line';
    const child = spawn('unshare', ['--mount', 'sh', '-c', script], { cwd: '/' });
    await new Promise((resolve) => child.stdout.once('data', resolve));
    for (const attempt of [1, 2])
      expect(await reason(node.release('a')), `attempt ${attempt}`).to.contain(
        'another mount namespace',
      );
    expect((await node.volume('v'))?.status).to.equal('Bound');
    child.stdin.end('\n');
    await new Promise((resolve) => child.once('exit', resolve));
    await eventually('release', async () => (await reason(node.release('a'))) === 'ok');
    expect((await node.volume('v'))?.status).to.equal('Available');
    expect(path).to.contain('binds');
  });

  it('read-only binds refuse writes, subPaths show only their directory', async () => {
    await node.make('v', '16Mi');
    const root = await node.mount('a', 'v');
    await writeFile(join(root, 'x'), '');
    const below = await node.mount('a', 'v', { name: 'sub', subPath: 'one/two' });
    await writeFile(join(below, 'y'), '');
    expect(await readdir(join(root, 'one/two'))).to.deep.equal(['y']);
    const fixed = await node.mount('a', 'v', { name: 'ro', readOnly: true });
    expect(await reason(writeFile(join(fixed, 'z'), ''))).to.contain('EROFS');
    await node.release('a');
    expect(await mounts()).to.deep.equal([]);
    expect(await readdir(node.mountRoot)).to.deep.equal(['binds']);
  });

  it('a subPath through a link is refused, and one swapped during the mount is not followed', async () => {
    await node.make('v', '16Mi');
    const root = await node.mount('a', 'v');
    await mkdir(join(folder, 'outside'));
    await symlink(join(folder, 'outside'), join(root, 'link'));
    for (const subPath of ['link', 'link/new', '../outside'])
      expect(await reason(node.mount('a', 'v', { name: 'sub', subPath })), subPath).to.contain(
        'subPath',
      );
    await mkdir(join(root, 'real'));
    run = async (command, args, signal) => {
      // The time between the check and the mount.
      if (command === 'mount' && args.includes('--no-canonicalize')) {
        await rename(join(root, 'real'), join(root, 'moved'));
        await symlink(join(folder, 'outside'), join(root, 'real'));
      }
      return runCommand(command, args, signal);
    };
    const bound = await node.mount('a', 'v', { name: 'swapped', subPath: 'real' });
    await writeFile(join(bound, 'inside'), '');
    expect(await readdir(join(folder, 'outside'))).to.deep.equal([]);
    expect(await readdir(join(root, 'moved'))).to.deep.equal(['inside']);
    run = runCommand;
    await node.release('a');
  });

  it('snapshots of a mounted volume restore to a larger one, whose file system grows', async () => {
    await node.make('v', '320Mi', { fsType: 'xfs' });
    const path = await node.mount('a', 'v');
    await writeFile(join(path, 'x'), 'kept');
    execFileSync('sync', ['-f', path]);
    await node.store.create(snapshots, {
      name: 's',
      namespace: 'default',
      source: { volume: 'v' },
      metadata: { finalizers: ['svc.io/snapshot'] },
    });
    await eventually('snapshot', async () => (await node.snapshot('s'))?.status === 'Ready');
    expect((await node.volume('v'))?.snapshotsInFlight).to.deep.equal([]);
    const { storageClassName, accessMode } = (await node.volume('v'))!;
    await node.store.create(volumes, {
      name: 'r',
      namespace: 'default',
      storageClassName,
      accessMode,
      size: '640Mi',
      parameters: { fsType: 'xfs' },
      source: { snapshot: 's' },
      metadata: { finalizers: ['svc.io/volume'] },
    });
    await node.until('r', (v) => v?.status === 'Available');
    // Both on one node with one UUID: nouuid permits this.
    const restored = await node.mount('b', 'r');
    expect(await readFile(join(restored, 'x'), 'utf8')).to.equal('kept');
    const df = execFileSync('df', ['-B1M', '--output=size', restored], { encoding: 'utf8' });
    expect(Number(df.split('\n')[1])).to.be.greaterThan(450);
    await eventually(
      'the snapshot is free again',
      async () => (await node.snapshot('s'))?.restoresInFlight?.length === 0,
    );
    await node.release('a');
    await node.release('b');
  });

  it('kill -9 and a new start: the same bytes, no second mount, and resources without an owner are removed', async () => {
    const directory = join(folder, 'killed');
    await mkdir(directory);
    const child = spawn(process.execPath, [holder, directory], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const path = await new Promise<string>((resolve) =>
      child.stdout.once('data', (data) => resolve(String(data).trim())),
    );
    child.kill('SIGKILL');
    await new Promise((resolve) => child.once('exit', resolve));
    const before = await mounts();
    expect(before).to.include(path);
    const orphan = join(directory, 'mounts', '0f6cbd92-1c31-4a3a-9c0e-111111111111');
    await mkdir(orphan);
    execFileSync('mount', ['-t', 'tmpfs', 'orphan', orphan]);
    const store = await openStore({ engine: new LevelEngine({ directory }) });
    const driver = new LoopBlock({ directory }).driver;
    const next = await new TestNode({ store, driver, directory }).start();
    expect(await mounts()).to.deep.equal(before);
    expect(await next.mount('a', 'v')).to.equal(path);
    expect(await readFile(join(path, 'x'), 'utf8')).to.equal('written before the kill');
    expect(await mounts()).to.deep.equal(before);
    await next.release('a');
    expect(await mounts()).to.deep.equal([]);
    await next.stop();
    await store.close();
  });
});
