import { cp, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { eventually } from 'kedge/testing';
import { finish, root, TestDaemon } from '../acceptance/daemon.js';
import { busyboxImage, RealEngine, requireEngine } from './engine.js';

const base = '/v1/namespaces/default';
const program = join(root, 'cmd/bin/kedged.mjs');

describe('a copy of a cluster on the machine and the engine of its original', function () {
  this.timeout(300_000);
  let engine: RealEngine;
  let folder: string;
  let original: TestDaemon;
  let copy: TestDaemon | undefined;

  before(async function () {
    requireEngine(this);
    engine = await RealEngine.start();
    folder = await mkdtemp(join(tmpdir(), 'kedge-copy-'));
    original = await TestDaemon.start({ environment: environment() });
  });
  after(async () => {
    await copy?.dispose();
    await original?.dispose();
    await engine?.stop();
    if (folder) await rm(folder, { recursive: true, force: true });
  });

  const environment = () => ({ KEDGE_RUNTIME_DOCKER_SOCKET: engine.socketPath });

  /**
   * Waits until an instance is Running.
   * @param not the container of the original instance, whose id a restored instance has until its node reports another
   * one
   */
  const running = (daemon: TestDaemon, name: string, not?: unknown) =>
    eventually(
      `${name} Running`,
      async () => {
        const { body } = await daemon.rest('GET', `${base}/instances/${name}`);
        return body.status === 'Running' && body.containerId !== not ? body : undefined;
      },
      90_000,
    );

  const uidOf = (object: Record<string, unknown>): string =>
    (object.metadata as { readonly uid: string }).uid;

  /** The containers of an engine by name. */
  const containers = (): readonly string[] =>
    engine.docker('ps', '--format', '{{.Names}}').split('\n').filter(Boolean).sort();

  /** The pid of the process of an instance, in the mount namespace of the machine. */
  const pidOf = async (daemon: TestDaemon, id: string): Promise<string> => {
    const file = join(daemon.data, 'instances', id, 'run-1', 'pid');
    return (await readFile(file, 'utf8')).split(/\s/)[0] ?? '';
  };

  const isAlive = async (pid: string): Promise<boolean> =>
    readFile(`/proc/${pid}/stat`, 'utf8').then(
      (text) => !text.includes(') Z '),
      () => false,
    );

  async function startCopy(): Promise<TestDaemon> {
    const file = join(folder, 'store.backup');
    const made = await original.cli('admin', 'backup', file);
    expect(made.code, made.stderr).to.equal(0);
    const started = await TestDaemon.start({
      bootstrap: false,
      environment: environment(),
      prepare: async (data) => {
        await mkdir(data);
        await cp(join(original.data, 'kek'), join(data, 'kek'));
        const args = [program, 'restore', file, '--as-copy', '--data-directory', data];
        const restored = await finish(process.execPath, args);
        expect(restored.code, restored.stderr).to.equal(0);
      },
    });
    started.token = original.token;
    return started;
  }

  it("runs workloads of its own beside those of the original, and neither changes the other's", async () => {
    const common = { terminationGracePeriodSeconds: 1, resources: { memory: { limit: '64Mi' } } };
    const boxed = { ...common, image: busyboxImage, command: ['/bin/sleep', '600'] };
    await original.ok('POST', `${base}/services`, { ...boxed, name: 'boxed' });
    const plain = { ...common, runtime: 'process', command: ['sleep', '600'] };
    await original.ok('POST', `${base}/services`, { ...plain, name: 'plain' });
    const boxedBefore = await running(original, 'boxed-0');
    const plainBefore = await running(original, 'plain-0');
    const pid = await pidOf(original, uidOf(plainBefore));
    const [name = ''] = containers();

    copy = await startCopy();
    const boxedCopy = await running(copy, 'boxed-0', boxedBefore.containerId);
    const plainCopy = await running(copy, 'plain-0');
    expect([uidOf(boxedCopy), uidOf(plainCopy)]).to.deep.equal([
      uidOf(boxedBefore),
      uidOf(plainBefore),
    ]);
    expect(containers()).to.have.length(2).and.include(name);
    // Each has number 1: its first start succeeded, because its name was free.
    for (const container of containers())
      expect(container).to.match(new RegExp(`^kedge-[0-9a-f]{8}-${uidOf(boxedBefore)}-1$`));
    const of = copy;
    const copyPid = await eventually('the process of the copy', () =>
      pidOf(of, uidOf(plainCopy)).catch(() => undefined),
    );
    expect(copyPid).to.not.equal(pid);
    expect([await isAlive(pid), await isAlive(copyPid)]).to.deep.equal([true, true]);

    // The copy removes only its own containers.
    for (const service of ['boxed', 'plain']) {
      await copy.ok('DELETE', `${base}/services/${service}`);
      await eventually(
        `${service} of the copy to be gone`,
        async () => (await of.rest('GET', `${base}/services/${service}`)).status === 404,
        60_000,
      );
    }
    expect(containers()).to.deep.equal([name]);
    expect([await isAlive(pid), await isAlive(copyPid)]).to.deep.equal([true, false]);
    for (const [instance, before] of [
      ['boxed-0', boxedBefore],
      ['plain-0', plainBefore],
    ] as const) {
      const after = await running(original, instance);
      expect([after.restartCount, after.containerId], instance).to.deep.equal([
        0,
        before.containerId,
      ]);
    }
  });
});
