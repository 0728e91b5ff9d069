import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { join } from 'node:path';
import { expect } from 'chai';
import { eventually } from 'kedge/testing';
import { root, type TestDaemon } from '../../acceptance/daemon.js';
import { busyboxImage, type RealEngine } from '../engine.js';
import { startEngineAndDaemon, stopEngineAndDaemon } from '../engine-daemon.js';

const base = '/v1/namespaces/default';
/** Prints numbered lines with a word that no other run prints. */
const counting =
  'read word </proc/sys/kernel/random/uuid; n=0; while :; do n=$((n + 1)); echo "$word $n"; sleep 0.05; done';

/** `kedge logs --follow` in the background. */
class Follower {
  readonly lines: string[] = [];
  readonly #child: ChildProcess;

  constructor(daemon: TestDaemon, ...args: readonly string[]) {
    this.#child = spawn(
      process.execPath,
      [join(root, 'cmd/bin/kedge.mjs'), 'logs', '--follow', ...args],
      {
        cwd: root,
        env: { ...process.env, ...daemon.cliEnvironment },
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    );
    const { stdout } = this.#child;
    if (stdout) createInterface({ input: stdout }).on('line', (line) => this.lines.push(line));
  }

  async end(): Promise<void> {
    const ended = once(this.#child, 'exit');
    this.#child.kill('SIGINT');
    await ended;
  }
}

/** The numbers of the lines of each run of {@link counting}, by instance and word. */
function numbersOf(lines: readonly string[]): Map<string, number[]> {
  const found = new Map<string, number[]>();
  for (const line of lines) {
    const [, instance = '', word = '', number = ''] = /^\[(\S+)\] (\S{36}) (\d+)$/.exec(line) ?? [];
    expect(instance, line).not.to.equal('');
    const key = `${instance} ${word}`;
    found.set(key, [...(found.get(key) ?? []), Number(number)]);
  }
  return found;
}

describe('the logs of a service', function () {
  this.timeout(300_000);
  let engine: RealEngine;
  let daemon: TestDaemon;

  before(async function () {
    ({ engine, daemon } = await startEngineAndDaemon(this));
  });
  after(() => stopEngineAndDaemon({ engine, daemon }));

  const instance = async (name: string): Promise<Record<string, unknown>> =>
    (await daemon.rest('GET', `${base}/instances/${name}`)).body;
  const cast = (name: string, runtime: string, script: string, scale = 1) =>
    daemon.ok('POST', `${base}/services`, {
      ...{ name, runtime, scale, command: ['sh', '-c', script], terminationGracePeriodSeconds: 1 },
      ...(runtime === 'container' && { image: busyboxImage }),
    });
  const running = (name: string) =>
    eventually(
      `${name} to run`,
      async () => {
        const body = await instance(name);
        return body.status === 'Running' ? body : undefined;
      },
      60_000,
    );
  const logs = async (...args: string[]): Promise<readonly string[]> => {
    const { stdout, stderr, code } = await daemon.cli('logs', ...args);
    expect(code, stderr).to.equal(0);
    return stdout.split('\n').slice(0, -1);
  };
  async function removed(name: string): Promise<void> {
    await daemon.ok('DELETE', `${base}/services/${name}`);
    await eventually(
      `${name} to be gone`,
      async () => (await daemon.rest('GET', `${base}/services/${name}`)).status === 404,
      60_000,
    );
  }

  it('of containers are interleaved by their times, each line with its instance', async () => {
    await cast('many', 'container', counting, 3);
    for (const ordinal of [0, 1, 2]) await running(`many-${ordinal}`);
    const lines = await eventually('lines of all', async () => {
      const found = await logs('service/many', '--timestamps');
      const least = ['many-0', 'many-1', 'many-2'].map(
        (name) => found.filter((line) => line.startsWith(`[${name}] `)).length,
      );
      return Math.min(...least) > 20 ? found : undefined;
    });
    const times = lines.map((line) => line.split(' ')[1] ?? '');
    for (const time of times) expect(Date.parse(time), time).to.be.closeTo(Date.now(), 300_000);
    expect(times).to.deep.equal(times.toSorted());
    const changes = lines.filter(
      (line, at) => at > 0 && line.split(' ')[0] !== lines[at - 1]?.split(' ')[0],
    );
    expect(changes.length, 'changes of the instance').to.be.greaterThan(20);
    const numbers = numbersOf(lines.map((line) => line.replace(/ \S+Z /, ' ')));
    expect(numbers.size).to.equal(3);
    for (const [key, found] of numbers)
      expect(found, key).to.deep.equal(found.map((_, at) => at + 1));
    expect(numbersOf(await logs('service/many', '--tail', '2')).size).to.equal(3);
    expect(await logs('service/many', '--tail', '2')).to.have.length(6);
    await removed('many');
  });

  it('of a container have the times of the engine, and are read since and until a time', async () => {
    await cast('timed', 'container', 'echo one; echo two; exec sleep 600');
    const { containerId } = await running('timed-0');
    await eventually('its lines', async () => (await logs('timed-0')).length === 2);
    const ofEngine = engine.docker('logs', '--timestamps', String(containerId)).split('\n');
    expect(await logs('timed-0', '--timestamps')).to.deep.equal(ofEngine);
    expect(await logs('timed-0', '--timestamps', '--since', '1h', '--tail', '1')).to.deep.equal(
      ofEngine.slice(-1),
    );
    expect(await logs('timed-0', '--until', '1h')).to.deep.equal([]);
    await eventually(
      'a second to pass',
      async () => (await logs('timed-0', '--since', '1s')).length === 0,
    );
    expect(await logs('timed-0', '--until', '1s')).to.deep.equal(['one', 'two']);
    expect(await logs('timed-0', '--until', '1s', '--tail', '1')).to.deep.equal(['two']);
    await removed('timed');
  });

  for (const runtime of ['container', 'process'])
    it(`that are followed continue across restarts of each ${runtime}, of kedged and of the engine`, async () => {
      await cast('app', runtime, counting, 2);
      const names = ['app-0', 'app-1'];
      for (const name of names) await running(name);
      const follower = new Follower(daemon, 'service/app');
      /** Waits for new lines of both instances, of `runs` runs each since the beginning. */
      const more = async (what: string, runs: number): Promise<void> => {
        const from = follower.lines.length;
        await eventually(
          `lines of both after ${what}`,
          () =>
            names.every(
              (name) =>
                follower.lines.slice(from).filter((line) => line.startsWith(`[${name}] `)).length >
                  10 &&
                new Set(
                  follower.lines
                    .filter((line) => line.startsWith(`[${name}] `))
                    .map((line) => line.split(' ')[1]),
                ).size >= runs,
            ),
          60_000,
        );
      };
      const portOf = (address: string): string => address.split(':')[1] ?? '';
      const restart = async (signal: NodeJS.Signals): Promise<void> => {
        const ports = { grpc: portOf(daemon.grpcAddress), rest: portOf(daemon.restAddress) };
        await daemon.end(signal);
        await daemon.run(ports);
      };
      try {
        await more('the start', 1);
        await restart('SIGKILL');
        await more('a kill of kedged', 1);
        for (const name of names) process.kill(Number((await running(name)).pid), 'SIGKILL');
        await more('a kill of the workloads', 2);
        if (runtime === 'container') {
          await engine.killDockerd();
          await engine.startDockerd();
          await more('a kill of the engine', 2);
        }
        await restart('SIGTERM');
        await more('a stop of kedged', 3);
      } finally {
        await follower.end();
      }
      const numbers = numbersOf(follower.lines);
      expect(numbers.size, 'runs of both').to.equal(6);
      for (const [key, found] of numbers)
        expect(found, key).to.deep.equal(found.map((_, at) => at + 1));
      // Nothing is missing at the end of a run: the kept output of the run before the last one is the same.
      const kept = numbersOf(await logs('service/app'));
      for (const [key, found] of kept) {
        const followed = numbers.get(key) ?? [];
        const isLast =
          key === [...numbers.keys()].findLast((each) => each.startsWith(key.slice(0, 5)));
        if (isLast) expect(found.slice(0, followed.length), key).to.deep.equal(followed);
        else expect(found, key).to.deep.equal(followed);
      }
      await removed('app');
    });
});
