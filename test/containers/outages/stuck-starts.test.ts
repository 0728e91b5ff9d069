import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { eventually } from 'kedge/testing';
import type { TestDaemon } from '../../acceptance/daemon.js';
import { busyboxImage, type RealEngine } from '../engine.js';
import { startEngineAndDaemon, stopEngineAndDaemon } from '../engine-daemon.js';

const base = '/v1/namespaces/default';
/** Time limit of a start here, milliseconds. */
const startMs = 20_000;

describe('a start that a real engine does not continue', function () {
  this.timeout(600_000);
  let engine: RealEngine;
  let daemon: TestDaemon;

  before(async function () {
    ({ engine, daemon } = await startEngineAndDaemon(this, {
      environment: { KEDGE_CONTROLLERS_CONTAINER_START_TIMEOUT_MS: String(startMs) },
    }));
  });
  after(() => stopEngineAndDaemon({ engine, daemon }));

  /** The words of a command. Empty for a process that ends, has ended or is of the kernel. */
  const commandOf = (pid: number): readonly string[] => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').filter(Boolean);
    } catch {
      return [];
    }
  };
  /** The shims of the engine's containers, by pid. Their starters, which end at once, are omitted. */
  const shims = (): readonly number[] =>
    readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map(Number)
      .filter((pid) => {
        const words = commandOf(pid);
        const isShim =
          words.includes('-id') && words.includes(join(engine.directory, 'containerd.sock'));
        return isShim && !words.includes('start');
      });
  /** State and parent of a process; undefined if it has ended. */
  const processOf = (
    pid: number,
  ): { readonly state: string; readonly parent: number } | undefined => {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
      const [state = '', parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      return { state, parent: Number(parent) };
    } catch {
      return undefined;
    }
  };
  const create = (name: string) =>
    daemon.ok('POST', `${base}/services`, {
      name,
      image: busyboxImage,
      command: ['sleep', '3600'],
      terminationGracePeriodSeconds: 1,
    });
  const instance = async (name: string) =>
    (await daemon.rest('GET', `${base}/instances/${name}-0`)).body;
  const runs = (name: string, withinMs: number) =>
    eventually(
      `${name} to run`,
      async () => {
        const { status, conditions } = await instance(name);
        if (status !== 'Running') throw new Error(JSON.stringify({ status, conditions }));
        return true;
      },
      withinMs,
    );

  /**
   * Suspends the only shim of the engine during its start. It then does not answer containerd, like a shim whose start an
   * engine left behind. It is suspended once its starter has ended: the kernel sends SIGHUP to a process group with a
   * suspended process when its last parent outside the group ends, and the shim would end by it.
   */
  const suspendedShim = async (): Promise<number> => {
    const end = Date.now() + 60_000;
    let [shim] = shims();
    while (shim === undefined && Date.now() < end) {
      await new Promise(setImmediate);
      [shim] = shims();
    }
    if (shim === undefined) throw new Error('no shim was started within 60 s');
    // A starter that ends is still the parent, with no command.
    const isStarted = (pid: number): boolean => {
      const words = commandOf(processOf(pid)?.parent ?? 0);
      return words.length > 0 && !words.includes('start');
    };
    // Without a turn of the event loop: the start takes a tenth of a second.
    while (!isStarted(shim) && Date.now() < end);
    process.kill(shim, 'SIGSTOP');
    return shim;
  };

  it('is repeated without a counted restart once its processes are killed, and others start meanwhile', async () => {
    await create('stuck');
    const shim = await suspendedShim();
    const suspendedAt = Date.now();
    const isSuspended = (): void => {
      expect(processOf(shim)?.state, 'state of the shim').to.equal('T');
    };
    try {
      await eventually('the shim to be suspended', () => {
        isSuspended();
        return true;
      });
      await create('other');
      await runs('other', startMs - 2_000);
      isSuspended();
      expect(engine.docker('ps', '--all', '--format', '{{.State}} {{.Names}}')).to.match(
        /^created kedge-/m,
      );
      await runs('stuck', 120_000);
    } finally {
      try {
        process.kill(shim, 'SIGKILL');
      } catch {
        // It has ended, as expected.
      }
    }
    expect(Date.now() - suspendedAt).to.be.at.least(startMs / 2);
    expect(shims()).not.to.include(shim);
    expect(daemon.log).to.contain('killed processes of a start that the container engine does not');
    expect(Number((await instance('stuck'))['restartCount'] ?? 0)).to.equal(0);
    expect(engine.docker('ps', '--format', '{{.Names}}').split('\n')).to.have.lengthOf(2);
    for (const name of ['stuck', 'other']) await daemon.ok('DELETE', `${base}/services/${name}`);
    await eventually(
      'no container to be left',
      () => engine.docker('ps', '--all', '--quiet') === '',
      60_000,
    );
  });
});
