import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, open, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { killGroup } from './kill-group.js';

describe('the kill of a control group', () => {
  let folder: string;
  let children: ChildProcess[];

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kedge-cgroup-'));
    children = [];
  });
  afterEach(async () => {
    for (const child of children) child.kill('SIGKILL');
    // Releases a reader or writer of the pipe that a failed test left.
    await open(file('cgroup.procs'), 'r+').then(
      (pipe) => pipe.close(),
      () => undefined,
    );
    await rm(folder, { recursive: true });
  });

  const file = (name: string): string => join(folder, name);
  const read = (name: string): Promise<string> => readFile(file(name), 'utf8');

  /** A process, and its end by a signal. */
  function process(): { readonly pid: number; readonly end: Promise<unknown> } {
    const child = spawn('sleep', ['600'], { stdio: 'ignore' });
    children.push(child);
    return {
      pid: child.pid ?? 0,
      end: once(child, 'exit').then(([, signal]: unknown[]) => signal),
    };
  }

  it('of v2 is one write where the kernel has it', async () => {
    await writeFile(file('cgroup.kill'), '');
    await writeFile(file('cgroup.freeze'), '');
    await killGroup('v2', folder);
    expect(await read('cgroup.kill')).to.equal('1');
    expect(await read('cgroup.freeze'), 'needs no freezing').to.equal('');
  });

  for (const [version, freezer, frozen, thawed] of [
    ['v1', 'freezer.state', 'FROZEN', 'THAWED'],
    ['v2', 'cgroup.freeze', '1', '0'],
  ] as const)
    it(`of ${version} kills each process, also those created meanwhile, while the group is frozen`, async () => {
      await writeFile(file(freezer), '');
      execFileSync('mkfifo', [file('cgroup.procs')]);
      const [first, second] = [process(), process()];
      const killing = killGroup(version, folder);
      await writeFile(file('cgroup.procs'), `${first.pid}\n`);
      expect(await first.end).to.equal('SIGKILL');
      expect(await read(freezer)).to.equal(frozen);
      await writeFile(file('cgroup.procs'), `${first.pid}\n${second.pid}\n`);
      expect(await second.end).to.equal('SIGKILL');
      expect(await read(freezer)).to.equal(frozen);
      // Frozen processes of v1 stay in the list.
      await writeFile(file('cgroup.procs'), `${first.pid}\n${second.pid}\n`);
      await killing;
      expect(await read(freezer)).to.equal(thawed);
    });

  it('of v2 of a kernel without a freezer kills each process', async () => {
    const { pid, end } = process();
    await writeFile(file('cgroup.procs'), `${pid}\n`);
    await killGroup('v2', folder);
    expect(await end).to.equal('SIGKILL');
    expect(await readdir(folder)).to.deep.equal(['cgroup.procs']);
  });

  it('lets the group continue if its processes are not known', async () => {
    await writeFile(file('cgroup.freeze'), '');
    const failure = await killGroup('v2', folder).catch((error: unknown) => error);
    expect(failure).to.be.an('error').with.property('code', 'ENOENT');
    expect(await read('cgroup.freeze')).to.equal('0');
  });
});
