import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { silentLogger } from 'kedge';
import { FakeClock } from 'kedge/testing';
import { defaultPolicy } from '../../../policy/policy.js';
import { ContainerRecords } from '../container-records.js';
import { EngineError } from '../engine/engine-error.js';
import type { FoundRun } from '../run-identity.js';
import { StuckStarts } from './stuck-starts.js';

const id = '11111111-1111-4111-8111-111111111111';

describe('a start that the engine does not continue', () => {
  let directory: string;
  let clock: FakeClock;
  let records: ContainerRecords;
  let found: FoundRun[];
  let killed: string[];
  let stuck: StuckStarts;

  /** A call for the container of the run that has no answer for this time. */
  const unanswered = async (ms: number, run = 2): Promise<unknown> =>
    stuck
      .during(id, run, async () => {
        await clock.advance(ms);
        throw new EngineError('Timeout', 'no progress');
      })
      .catch((error: unknown) => error);
  const daemon = (policy = defaultPolicy): StuckStarts =>
    new StuckStarts({
      ...{ clock, records, logger: silentLogger, policy },
      runs: () => Promise.resolve(found),
      kill: (container) => {
        killed.push(container);
        return Promise.resolve([1]);
      },
    });

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'kedge-stuck-'));
    clock = new FakeClock();
    records = new ContainerRecords(directory);
    await records.begin(id, 2, 'boot');
    found = [
      { run: 1, container: 'one', state: 'created' },
      { run: 2, container: 'two', state: 'created' },
    ];
    killed = [];
    stuck = daemon();
  });
  afterEach(() => rm(directory, { recursive: true }));

  it('has its processes killed after 60 s without an answer, and its error remains', async () => {
    expect(String(await unanswered(30_000))).to.contain('no progress');
    expect(killed).to.deep.equal([]);
    expect(String(await unanswered(30_000))).to.contain('no progress');
    expect(killed).to.deep.equal(['two']);
  });

  it('has its processes killed by the next process of the daemon too', async () => {
    await unanswered(30_000);
    stuck = daemon();
    await unanswered(30_000);
    expect(killed).to.deep.equal([]);
    await unanswered(30_000);
    expect(killed).to.deep.equal(['two']);
  });

  it('has its processes killed after half of another time limit of a start', async () => {
    stuck = daemon({ ...defaultPolicy, containerStartTimeoutMs: 20_000 });
    await unanswered(9_000);
    expect(killed).to.deep.equal([]);
    await unanswered(1_000);
    expect(killed).to.deep.equal(['two']);
  });

  it('keeps its processes if the engine answers in between', async () => {
    await unanswered(30_000);
    await stuck.during(id, 2, () => Promise.resolve());
    await unanswered(30_000);
    expect(killed).to.deep.equal([]);
  });

  it('keeps its processes if its outcome is recorded, its container started meanwhile, or the run is another', async () => {
    await unanswered(120_000, 1);
    found = [{ run: 2, container: 'two', state: 'running' }];
    await unanswered(120_000);
    found = [{ run: 2, container: 'two', state: 'created' }];
    await records.settled(id, 2);
    await unanswered(120_000);
    expect(killed).to.deep.equal([]);
  });
});
