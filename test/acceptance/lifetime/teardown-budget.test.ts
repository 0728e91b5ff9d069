import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { eventually } from 'kedge/testing';
import { TestDaemon } from '../daemon.js';

const program = fileURLToPath(new URL('kedged-with-slow-releases.js', import.meta.url));
const base = '/v1/namespaces/default';
const budgetMs = 8_000;
/** Nearly the whole budget, and far more than a twentieth of it. */
const slowMs = 5_000;
/** Parts that stop before and after the volumes, on a loaded machine. */
const slackMs = 8_000;

/** The level of a warning in the log. */
const warn = 40;

interface Line {
  readonly level: number;
  readonly msg: string;
  readonly [field: string]: unknown;
}

describe('the budget of a shutdown', function () {
  this.timeout(180_000);
  let daemon: TestDaemon;
  afterEach(() => daemon.dispose());

  const names = ['hangs', 'slow', ...Array.from({ length: 18 }, (_, index) => `v${index}`)];
  /** One process with all of the volumes. */
  const start = async (script: string, graceSeconds: number): Promise<void> => {
    for (const name of names)
      await daemon.ok('POST', `${base}/volumes`, {
        name,
        storageClassName: 'local-host',
        size: '1Mi',
        accessMode: 'ReadWriteOnce',
        parameters: { hostPath: join(daemon.home, 'host', name), createIfMissing: 'true' },
      });
    await daemon.ok('POST', `${base}/services`, {
      name: 'user',
      runtime: 'process',
      command: ['/bin/sh', '-c', script],
      terminationGracePeriodSeconds: graceSeconds,
      volumes: names.map((name) => ({ name, mountPath: `/data/${name}`, claim: { name } })),
    });
    await running();
  };
  const running = (): Promise<unknown> =>
    eventually(
      'the workload',
      async () => (await daemon.rest('GET', `${base}/instances/user-0`)).body.status === 'Running',
      60_000,
    );
  const lines = (): readonly Line[] =>
    daemon.log
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line) as Line);
  const summaries = (): readonly Line[] =>
    lines().filter(({ msg }) => /torn down|teardown incomplete/.test(msg));
  /** Milliseconds of a stop. */
  const stop = async (): Promise<number> => {
    const begun = performance.now();
    expect(await daemon.end('SIGTERM')).to.equal(0);
    return performance.now() - begun;
  };

  it('applies to each volume separately: one that hangs delays no other, and one may use nearly all of it', async () => {
    daemon = await TestDaemon.start({
      program,
      environment: {
        KEDGE_RUNTIME_SHUTDOWN_TIMEOUT_SECONDS: String(budgetMs / 1_000),
        KEDGE_TEST_SLOW_MS: String(slowMs),
      },
    });
    await start('exec sleep 600', 1);
    expect(await stop()).to.be.within(slowMs, budgetMs + slackMs);
    const detached = lines()
      .filter(({ msg }) => msg === 'test: detached')
      .map(({ volume }) => volume);
    expect(detached).to.have.members(names.filter((name) => name !== 'hangs'));
    expect(summaries()).to.have.lengthOf(1);
    expect(summaries()[0]).to.include({
      ...{ level: warn, msg: 'Volume teardown incomplete', released: 19, total: 20 },
    });
    const kept = lines().filter(({ msg }) => msg === 'volume stays attached');
    expect(kept.map(({ volume }) => volume)).to.deep.equal(['default/hangs']);
    // The workload is adopted, and uses the volume with the others again.
    await daemon.run();
    await running();
    const { body } = await daemon.rest('GET', `${base}/volumes/hangs`);
    expect(body.status).to.equal('Bound');
  });

  it('that workloads use up with their grace leaves a single warning, and no summary', async () => {
    daemon = await TestDaemon.start({
      environment: { KEDGE_RUNTIME_SHUTDOWN_TIMEOUT_SECONDS: '3' },
    });
    await start('trap "" TERM; while :; do sleep 1; done', 60);
    expect(await stop()).to.be.within(2_000, 3_000 + slackMs);
    expect(summaries()).to.deep.equal([]);
    const about = lines().filter(({ level, msg }) => level === warn && /volume/i.test(msg));
    expect(about).to.have.lengthOf(1);
    expect(about[0]).to.include({
      ...{ msg: 'Shutdown budget spent before volume teardown; volumes stay attached', total: 20 },
    });
  });
});
