import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, open, readdir, readFile, rm, rmdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { WorkloadGroups } from './workload-groups.js';

const limits = { cpuMillis: 1_500, cpuRequestMillis: 500, memoryBytes: 2 ** 27, pids: 20 };

describe('control groups of workloads', () => {
  let root: string;
  let groups: WorkloadGroups;

  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'kedge-cgroup-'));
    groups = new WorkloadGroups({ root });
  });
  afterEach(() => rm(root, { recursive: true }));

  const read = (...path: readonly string[]) => readFile(join(root, ...path), 'utf8');

  async function hierarchies(...names: readonly string[]): Promise<void> {
    for (const name of names) {
      await mkdir(join(root, name));
      await writeFile(join(root, name, 'cgroup.procs'), '');
    }
  }

  async function unified(): Promise<void> {
    await writeFile(join(root, 'cgroup.controllers'), 'cpu memory pids\n');
    await writeFile(join(root, 'cgroup.procs'), '');
    await writeFile(join(root, 'cgroup.subtree_control'), 'memory\n');
  }

  it('of v1 are one folder in each hierarchy that is needed, and in the freezer', async () => {
    await hierarchies('cpu', 'memory', 'pids', 'freezer', 'devices');
    const prepared = await groups.prepare('u', limits);
    expect(prepared.unenforced).to.equal(undefined);
    expect(prepared.procs).to.deep.equal(
      ['cpu', 'memory', 'pids', 'freezer'].map((name) =>
        join(root, name, 'kedge', 'u', 'cgroup.procs'),
      ),
    );
    expect(await read('cpu/kedge/u/cpu.cfs_quota_us')).to.equal('150000');
    expect(await read('cpu/kedge/u/cpu.cfs_period_us')).to.equal('100000');
    expect(await read('cpu/kedge/u/cpu.shares')).to.equal('512');
    expect(await read('memory/kedge/u/memory.limit_in_bytes')).to.equal('134217728');
    expect(await read('pids/kedge/u/pids.max')).to.equal('24');
  });

  it('of v2 are created though the end of another workload removes their parent meanwhile', async () => {
    await unified();
    const control = join(root, 'cgroup.subtree_control');
    await rm(control);
    execFileSync('mkfifo', [control]);
    const preparing = groups.prepare('u', { memoryBytes: 2 ** 27 });
    // Opened as soon as it is read, which is after the creation of the parent.
    const reading = await open(control, 'w');
    await rmdir(join(root, 'kedge'));
    await rm(control);
    await writeFile(control, 'memory\n');
    await reading.write('memory\n');
    await reading.close();
    expect((await preparing).unenforced).to.equal(undefined);
    expect(await read('kedge/cgroup.subtree_control')).to.equal('+memory');
    expect(await read('kedge/u/memory.max')).to.equal('134217728');
  });

  it('of a copy of a cluster are others, though its workloads have the same ids', async () => {
    await hierarchies('memory', 'freezer');
    const original = new WorkloadGroups({ root, cluster: '0123abcd-original' });
    const copy = new WorkloadGroups({ root, cluster: '89ef4567-copy' });
    const mine = await original.prepare('u', { memoryBytes: 2 ** 27 });
    const theirs = await copy.prepare('u', { memoryBytes: 2 ** 26 });
    expect(theirs.procs).to.not.have.members([...mine.procs]);
    expect(await read('memory/kedge/0123abcd-u/memory.limit_in_bytes')).to.equal('134217728');
    expect(await read('memory/kedge/89ef4567-u/memory.limit_in_bytes')).to.equal('67108864');
    expect(await original.procs('u')).to.deep.equal(mine.procs);
  });

  it('of a run that an earlier release started are used until its end, if they are on record here', async () => {
    await hierarchies('memory', 'freezer');
    const { procs } = await groups.prepare('u', { memoryBytes: 2 ** 27 });
    await writeFile(join(root, 'memory/kedge/u/memory.oom_control'), 'oom_kill 1\n');
    for (const name of ['cgroup.procs', 'freezer.state'])
      await writeFile(join(root, 'freezer/kedge/u', name), '');
    const cluster = '0123abcd-original';
    const copy = new WorkloadGroups({ root, cluster });
    expect([await copy.procs('u'), copy.ranOutOfMemory('u')]).to.deep.equal([[], false]);
    const later = new WorkloadGroups({ root, cluster }, () => procs);
    expect([await later.procs('u'), later.ranOutOfMemory('u')]).to.deep.equal([procs, true]);
    await later.kill('u');
    expect(await read('freezer/kedge/u/freezer.state')).to.equal('THAWED');
    for (const file of ['memory/kedge/u', 'freezer/kedge/u'])
      for (const name of await readdir(join(root, file))) await rm(join(root, file, name));
    const next = await later.prepare('u', { memoryBytes: 2 ** 27 });
    expect(next.procs[0]).to.equal(join(root, 'memory/kedge/0123abcd-u/cgroup.procs'));
    expect(await readdir(join(root, 'memory/kedge'))).to.deep.equal(['0123abcd-u']);
  });

  it('of v2 are one folder, whose controllers are enabled above it', async () => {
    await unified();
    const { procs, unenforced } = await groups.prepare('u', limits);
    expect(unenforced).to.equal(undefined);
    expect(procs).to.deep.equal([join(root, 'kedge/u/cgroup.procs')]);
    expect(await read('kedge/u/cpu.max')).to.equal('150000 100000');
    expect(await read('kedge/u/cpu.weight')).to.equal('20');
    expect(await read('kedge/u/memory.max')).to.equal('134217728');
    expect(await read('kedge/u/memory.swap.max')).to.equal('0');
    expect(await read('kedge/u/pids.max')).to.equal('24');
    expect(await read('cgroup.subtree_control')).to.equal('+pids');
    expect(await read('kedge/cgroup.subtree_control')).to.equal('+pids');
  });

  it('of v2 are killed as a group, and report exceeded memory', async () => {
    await unified();
    await groups.prepare('u', limits);
    await writeFile(join(root, 'kedge/u/cgroup.kill'), '');
    await groups.kill('u');
    expect(await read('kedge/u/cgroup.kill')).to.equal('1');
    expect(groups.ranOutOfMemory('u')).to.equal(false);
    await writeFile(join(root, 'kedge/u/memory.events'), 'low 0\noom 2\noom_kill 1\n');
    expect(groups.ranOutOfMemory('u')).to.equal(true);
    expect(groups.ranOutOfMemory('another')).to.equal(false);
  });

  it('do not exist for a workload without limits', async () => {
    await hierarchies('cpu', 'memory', 'pids', 'freezer');
    expect(await groups.prepare('u')).to.deep.equal({
      procs: [],
      unenforced: undefined,
      limits: [],
    });
    expect(await readdir(join(root, 'cpu'))).to.deep.equal(['cgroup.procs']);
    await groups.kill('u');
    await groups.remove('u');
  });

  it('enforce the limits that the machine supports, and report the others with the remedy', async () => {
    await hierarchies('memory', 'freezer');
    const { procs, unenforced } = await groups.prepare('u', limits);
    expect(procs).to.have.lengthOf(2);
    expect(await read('memory/kedge/u/memory.limit_in_bytes')).to.equal('134217728');
    expect(unenforced).to.equal(
      `limits of cpu (${root}/cpu/kedge/u: ENOENT) and pids (${root}/pids/kedge/u: ENOENT) can't be enforced by this kedged; run it as root on a machine with these cgroup controllers, or remove the limits`,
    );
  });
});
