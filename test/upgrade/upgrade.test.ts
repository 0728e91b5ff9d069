import { createHash } from 'node:crypto';
import { readFile, rm, stat, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { eventually } from 'kedge/testing';
import { root, TestDaemon, workload } from '../acceptance/daemon.js';
import { requireDevices } from '../drivers/devices.js';
import { EarlierRelease } from './earlier-release.js';

/** The last commit before grants referred to uids, workloads were sandboxed and requests were parsed once. */
const commit = 'acd635f';
const path = '/v1/namespaces/default';
const count = 10;
const names = Array.from({ length: count }, (_, n) => `kept-${n}`);
/** Writes its start and its end into its volume. */
const script =
  'trap "echo stopped >>/data/signals; exit 0" TERM; echo started >>/data/signals; while :; do sleep 0.1; done';

describe('a daemon that replaces one of an earlier release', function () {
  this.timeout(600_000);
  let earlier: EarlierRelease | undefined;
  let daemon: TestDaemon | undefined;
  before(async function () {
    requireDevices(this);
    if (!EarlierRelease.has(commit)) {
      console.log(`      skipped: the history of these sources does not contain commit ${commit}`);
      this.skip();
    }
    earlier = await EarlierRelease.build(commit);
  });
  after(async () => {
    await daemon?.dispose();
    await earlier?.dispose();
  });

  it(`restarts none of ${count} process services, formats nothing, and stops them all gracefully`, async () => {
    if (!earlier) throw new Error('there is no earlier release');
    const { folder } = earlier;
    // Node.js resolves the link at the start.
    const current = join(folder, 'current');
    await symlink(folder, current);
    const program = join(current, 'cmd/bin/kedged.mjs');
    const upgraded = await TestDaemon.start({ program });
    daemon = upgraded;
    const { home } = upgraded;
    for (const name of names) {
      const { volume, service } = workload(upgraded, name, script);
      await upgraded.ok('POST', `${path}/volumes`, volume);
      // Long enough for the trap on a slow machine.
      const patient = { ...service, terminationGracePeriodSeconds: 60 };
      await upgraded.ok('POST', `${path}/services`, patient);
    }
    const image = {
      name: 'image',
      storageClassName: 'local',
      size: '64Mi',
      accessMode: 'ReadWriteOnce',
      parameters: { backing: 'image' },
    };
    await upgraded.ok('POST', `${path}/volumes`, image);
    const stateOf = async (kind: 'instances' | 'volumes', name: string) =>
      (await upgraded.rest('GET', `${path}/${kind}/${name}`)).body;
    const signals = (name: string): Promise<string> =>
      readFile(join(home, 'host', name, 'signals'), 'utf8').catch(() => '');
    const until = (what: string, holds: () => Promise<boolean>) => eventually(what, holds, 60_000);
    for (const name of names)
      await until(`${name} to run`, async () => {
        const { status } = await stateOf('instances', `${name}-0`);
        const volume = await stateOf('volumes', name);
        return status === 'Running' && volume.status === 'Bound' && (await signals(name)) !== '';
      });
    await until(
      'the image',
      async () => (await stateOf('volumes', 'image')).status === 'Available',
    );

    /** The state that an upgrade must not change. */
    const situation = async (): Promise<unknown> => {
      const { handle } = await stateOf('volumes', 'image');
      const { ino, mtimeMs } = await stat(String(handle));
      const digest = createHash('sha256')
        .update(await readFile(String(handle)))
        .digest('hex');
      const workloads = names.map(async (name) => {
        const { metadata, pid, restartCount } = await stateOf('instances', `${name}-0`);
        const { uid } = metadata as { readonly uid: string };
        const started = (await readFile(`/proc/${Number(pid)}/stat`, 'utf8')).split(' ')[21];
        return { uid, pid, started, restartCount, signals: await signals(name) };
      });
      return { image: { ino, mtimeMs, digest }, workloads: await Promise.all(workloads) };
    };
    const before = await situation();

    // A graceful stop would end the workloads.
    await upgraded.end('SIGKILL');
    await rm(current);
    await symlink(root, current);
    await upgraded.run();
    expect(await readFile(`/proc/${upgraded.pid}/cmdline`, 'utf8')).to.contain(current);
    // A change triggers a reconcile in every controller.
    for (const name of names)
      await until(`${name} Ready`, async () => {
        const { conditions, status } = await stateOf('instances', `${name}-0`);
        const ready = (conditions as { type: string; status: string }[]).find(
          ({ type }) => type === 'Ready',
        );
        return status === 'Running' && ready?.status === 'True';
      });
    expect((await upgraded.cli('exec', 'kept-0-0', '--', 'cat', '/data/signals')).stdout).to.equal(
      'started\n',
    );
    expect((await upgraded.cli('logs', 'kept-0')).code).to.equal(0);
    expect(await situation()).to.deep.equal(before);

    expect(await upgraded.end('SIGTERM')).to.equal(0);
    for (const name of names) expect(await signals(name)).to.equal('started\nstopped\n');
    const { workloads } = before as { workloads: readonly { readonly pid: number }[] };
    for (const { pid } of workloads)
      expect(await stat(`/proc/${pid}`).catch(() => undefined)).to.equal(undefined);
    await upgraded.run();
    for (const name of names)
      await until(`${name} to run again`, async () =>
        (await signals(name)).endsWith('stopped\nstarted\n'),
      );
  });
});
