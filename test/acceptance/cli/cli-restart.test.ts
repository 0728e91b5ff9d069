import { spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { eventually } from 'kedge/testing';
import { root, TestDaemon } from '../daemon.js';

/** A running command and its output so far. */
class Going {
  static readonly all: Going[] = [];
  output = '';
  readonly ended: Promise<number | null>;
  readonly #child;

  constructor(daemon: TestDaemon, ...args: string[]) {
    this.#child = spawn(process.execPath, ['cmd/bin/kedge.mjs', ...args], {
      cwd: root,
      env: { ...process.env, ...daemon.cliEnvironment },
    });
    this.#child.stdout.on('data', (data) => (this.output += String(data)));
    this.#child.stderr.on('data', (data) => (this.output += String(data)));
    Going.all.push(this);
    this.ended = new Promise((resolve) => {
      this.#child.on('close', resolve);
    });
  }

  kill(): void {
    this.#child.kill('SIGKILL');
  }

  interrupt(): void {
    this.#child.kill('SIGINT');
  }
}

describe('commands that continue while the daemon is killed and restarted', function () {
  this.timeout(180_000);
  let daemon: TestDaemon;
  before(async () => {
    daemon = await TestDaemon.start();
  });
  afterEach(() => {
    for (const one of Going.all.splice(0)) one.kill();
  });
  after(() => daemon.dispose());

  const restart = async (signal: NodeJS.Signals): Promise<void> => {
    const port = (address: string): string => address.split(':')[1] ?? '';
    const ports = { grpc: port(daemon.grpcAddress), rest: port(daemon.restAddress) };
    await daemon.end(signal);
    await daemon.run(ports);
  };
  const service = (name: string, script: string, more: object = {}) => ({
    name,
    runtime: 'process',
    command: ['/bin/sh', '-c', script],
    terminationGracePeriodSeconds: 1,
    ...more,
  });

  it('logs -f shows each line once, and reports that it waits', async () => {
    const script = 'n=0; while :; do n=$((n+1)); echo line $n; sleep 0.05; done';
    await daemon.ok('POST', '/v1/namespaces/default/services', service('counts', script));
    const lines = (text: string): number[] =>
      [...text.matchAll(/line (\d+)\n/g)].map(([, n]) => Number(n));
    const logs = new Going(daemon, 'logs', 'counts', '-f');
    for (let kills = 1; kills <= 3; kills += 1) {
      const before = lines(logs.output).length;
      await eventually('more lines', () => lines(logs.output).length > before + 5, 90_000);
      await restart('SIGKILL');
    }
    const seen = lines(logs.output).length;
    await eventually(
      'lines after the last kill',
      () => lines(logs.output).length > seen + 20,
      90_000,
    );
    logs.interrupt();
    expect(await logs.ended).to.equal(0);
    const all = lines(logs.output);
    expect(all).to.deep.equal(all.map((_, at) => at + 1));
    expect(logs.output).to.contain('continuing once the server answers');
    await daemon.ok('DELETE', '/v1/namespaces/default/services/counts');
  });

  it('logs -f also continues after a graceful stop', async () => {
    const path = '/v1/namespaces/default/services';
    await daemon.ok('POST', path, service('quiet', 'echo run; exec sleep 600'));
    const logs = new Going(daemon, 'logs', 'quiet', '-f');
    await eventually('the line', () => logs.output.includes('run\n'));
    await restart('SIGTERM');
    await eventually(
      'the line of the next run',
      () => logs.output.match(/run\n/g)?.length === 2,
      90_000,
    );
    logs.interrupt();
    expect(await logs.ended).to.equal(0);
  });

  it('exec does not end with success if the daemon stops or dies', async () => {
    await daemon.ok('POST', '/v1/namespaces/default/services', service('held', 'exec sleep 600'));
    const command = ['exec', 'held-0', '--', 'sh', '-c', 'echo begun; exec sleep 600'];
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      await eventually('a workload', async () => {
        const { stdout } = await daemon.cli('get', 'instances', 'held-0');
        return stdout.includes('Running');
      });
      const exec = new Going(daemon, ...command);
      await eventually('the command', () => exec.output.includes('begun'), 90_000);
      await restart(signal);
      expect(await exec.ended, exec.output).to.be.above(0);
      expect(exec.output.replace('begun', '')).to.match(/exit code \d+ \(SIG|daemon stops|dropped/);
    }
  });

  it('a waiting cast ends when its service runs, and get events -w continues', async () => {
    const file = join(daemon.home, 'slow.yaml');
    await writeFile(
      file,
      JSON.stringify({ service: service('slow', 'exec sleep 600', { minReadySeconds: 8 }) }),
    );
    const events = new Going(daemon, 'get', 'events', '-w');
    const cast = new Going(daemon, 'cast', file);
    // A command that has not connected yet ends with an error.
    await eventually('the first events', () => events.output !== '', 90_000);
    await eventually('the process', () => cast.output.includes('ready in'));
    await restart('SIGKILL');
    expect(await cast.ended, cast.output).to.equal(0);
    expect(cast.output).to.contain('All objects are ready.');
    const seen = events.output.length;
    await daemon.ok('POST', '/v1/namespaces/default/services', service('wrong', 'exit 1'));
    await eventually('its event', () => events.output.slice(seen).includes('wrong'), 90_000);
    events.interrupt();
    expect(await events.ended).to.equal(0);
  });
});
