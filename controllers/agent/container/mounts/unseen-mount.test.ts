import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { unseenMount } from './unseen-mount.js';

const id = 'c'.repeat(64);
const source = '/data/mounts/binds/u/shop+s-0/data';
const mounts = [
  { source: '/data/files', target: '/etc/app', readOnly: true },
  { source, target: '/data', readOnly: false },
];
const line = (device: string, root: string, target: string): string =>
  `30 20 ${device} ${root} ${target} rw shared:1 - ext4 /dev/x rw\n`;
const own = line('8:1', '/', '/') + line('7:0', '/', source);

describe('the mounts of a started container', () => {
  let proc: string;
  beforeEach(async () => {
    proc = await mkdtemp(join(tmpdir(), 'kedge-proc-'));
  });
  afterEach(() => rm(proc, { recursive: true }));

  async function unseen(
    table: string,
    cgroup = `0::/docker/${id}`,
    mine = own,
    pid = 42,
    of = mounts,
  ) {
    for (const [name, text] of [
      ['self/mountinfo', mine],
      ['42/mountinfo', table],
      ['42/cgroup', cgroup],
    ] as const) {
      await mkdir(join(proc, name, '..'), { recursive: true });
      await writeFile(join(proc, name), text);
    }
    return (await unseenMount(of, () => Promise.resolve({ id, pid }), proc))?.target;
  }
  const files = line('8:1', '/data/files', '/etc/app');

  it('are those of kedged if the device and the directory are the same', async () => {
    expect(await unseen(files + line('7:0', '/', '/data'))).to.equal(undefined);
  });

  it('are others if the engine has the directory below the volume, or another one of the same disk', async () => {
    expect(await unseen(files + line('8:1', source, '/data'))).to.equal('/data');
    const local = line('8:1', '/data/volumes/u', source);
    const below = files + line('8:1', source, '/data');
    expect(await unseen(below, undefined, local)).to.equal('/data');
  });

  it('are others also if a parent of the data directory is a link, which the table of mounts does not show', async () => {
    const real = join(await realpath(proc), 'disk/mounts/v');
    await mkdir(real, { recursive: true });
    await symlink(join(proc, 'disk'), join(proc, 'data'));
    const linked = [{ source: join(proc, 'data/mounts/v'), target: '/data', readOnly: false }];
    const mine = line('8:1', '/', '/') + line('7:0', '/', real);
    const otherIn = (table: string) => unseen(table, undefined, mine, undefined, linked);
    expect(await otherIn(line('8:1', real, '/data'))).to.equal('/data');
    expect(await otherIn(line('7:0', '/', '/data'))).to.equal(undefined);
  });

  it('are compared by the top one of several at a path', async () => {
    const stacked = line('8:1', source, '/data') + line('7:0', '/', '/data');
    expect(await unseen(stacked)).to.equal(undefined);
  });

  it('are compared also if a directory of the target is a link of the image', async () => {
    const root = join(proc, '42/root');
    await mkdir(join(root, 'run/deep'), { recursive: true });
    await mkdir(join(root, 'var/lib'), { recursive: true });
    await symlink('/run', join(root, 'var/run'));
    await symlink('../../run/./deep', join(root, 'var/lib/app'));
    for (const [target, place] of [
      ['/var/run/data', '/run/data'],
      ['/var/lib/app', '/run/deep'],
    ] as const) {
      const of = [{ source, target, readOnly: false }];
      const otherIn = (table: string) => unseen(table, undefined, undefined, undefined, of);
      expect(await otherIn(line('8:1', source, place)), target).to.equal(target);
      expect(await otherIn(line('7:0', '/', place)), target).to.equal(undefined);
    }
  });

  it('are not compared if the process is another one, has ended, or does not show the mount', async () => {
    const below = files + line('8:1', source, '/data');
    expect(await unseen(below, '0::/user.slice')).to.equal(undefined);
    expect(await unseen(below, undefined, own, 0)).to.equal(undefined);
    expect(await unseen(below, undefined, own, 43)).to.equal(undefined);
    expect(await unseen(files)).to.equal(undefined);
  });

  it('are not judged by the mounts of the machine, if the process runs beside the container in the namespace of kedged', async () => {
    const link = async (folder: string, namespace: string) => {
      await mkdir(join(proc, folder, 'ns'), { recursive: true });
      await symlink(`mnt:[${namespace}]`, join(proc, folder, 'ns/mnt'));
    };
    // The machine has something else at the target.
    const machine = own + line('8:2', '/', '/data');
    await link('self', '1');
    await link('42', '1');
    expect(await unseen(machine)).to.equal(undefined);
    await rm(join(proc, '42/ns'), { recursive: true });
    await link('42', '2');
    expect(await unseen(machine)).to.equal('/data');
  });

  it('are not inspected if nothing is mounted at their sources', async () => {
    await mkdir(join(proc, 'self'));
    await writeFile(join(proc, 'self/mountinfo'), line('8:1', '/', '/'));
    const inspect = () => Promise.reject(new Error('not expected'));
    expect(await unseenMount(mounts, inspect, proc)).to.equal(undefined);
  });
});
