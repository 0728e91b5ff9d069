import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { FakeClock, RecordingLogger } from 'kedge/testing';
import { EngineOutages } from './engine-outages.js';
import { OutageRecord } from './outage-record.js';

describe('outages of the engine that an earlier kedged recorded', () => {
  let directory: string;
  let clock: FakeClock;
  let logger: RecordingLogger;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'kedge-outages-'));
    clock = new FakeClock();
    logger = new RecordingLogger();
    await clock.advance(1_000_000);
  });
  afterEach(() => rm(directory, { recursive: true }));

  /** The outages of a process that connects to an engine with a start time, and its record. */
  async function daemon(
    engineStartedAt: number | undefined,
    keepsContainers = true,
  ): Promise<{ readonly outages: EngineOutages; readonly record: OutageRecord }> {
    const record = new OutageRecord(join(directory, 'containers'), logger);
    const outages = new EngineOutages(clock, record);
    await outages.recall(() => Promise.resolve(engineStartedAt));
    outages.connected(keepsContainers);
    await record.saved();
    return { outages, record };
  }

  it('include a restart of the engine since the last contact with it, for this and later processes', async () => {
    const first = await daemon(clock.now() - 1_000);
    expect(first.outages.at(clock.now() - 2_000), 'no record').to.equal(undefined);
    await clock.advance(10_000);
    first.outages.seen();
    await first.record.saved();
    const from = clock.now();
    await clock.advance(60_000);
    const to = clock.now();
    await clock.advance(1_000);

    const missed = { from, to, observed: false };
    const { outages } = await daemon(to);
    const times = [from - 1, from, from + 30_000, to, to + 1];
    expect(times.map((at) => outages.at(at))).to.deep.equal([
      ...[undefined, missed, missed, missed, undefined],
    ]);
    const end = { startedAt: from - 1, exitedAt: from + 30_000, exitCode: 137 };
    expect(outages.endedByEngine(end), 'decided by EngineStarts').to.equal(false);
    await clock.advance(1_000);
    expect((await daemon(to)).outages.at(from + 30_000), 'later').to.deep.equal(missed);
  });

  it('include those that it observed, and none if the engine was not restarted since', async () => {
    const engineStartedAt = clock.now() - 1_000;
    const first = await daemon(engineStartedAt);
    await clock.advance(10_000);
    const from = clock.now();
    first.outages.lost();
    first.outages.seen();
    await clock.advance(5_000);
    first.outages.connected(true);
    await first.record.saved();
    await clock.advance(5_000);
    const { outages } = await daemon(from + 4_000);
    const observed = { from, to: from + 5_000, observed: true };
    expect(outages.at(from + 1)).to.deep.equal(observed);
    expect(outages.at(from + 6_000)).to.equal(undefined);
    expect((await daemon(undefined)).outages.at(from + 1), 'unknown start').to.deep.equal(observed);
  });

  it('include one that had not ended, until the start of the engine, whose containers it ended', async () => {
    const first = await daemon(clock.now() - 1_000, false);
    await clock.advance(10_000);
    const from = clock.now();
    first.outages.lost();
    await first.record.saved();
    // The machine takes long to start again.
    await clock.advance(600_000);
    const to = clock.now();
    await clock.advance(1_000);
    for (const process of ['the next process', 'a later one']) {
      const { outages } = await daemon(to, false);
      expect(outages.at(from + 1), process).to.deep.equal({ from, to, observed: true });
      const ended = (exitedAt: number): boolean =>
        outages.endedByEngine({ startedAt: 0, exitedAt, exitCode: 0 });
      const ends = [from - 5_000, from - 1_000, from + 5_000, to + 1].map(ended);
      expect(ends, process).to.deep.equal([false, true, true, false]);
    }
  });

  it('do not include a lost connection to an engine that was not restarted', async () => {
    const first = await daemon(clock.now() - 1_000, false);
    await clock.advance(10_000);
    const from = clock.now();
    first.outages.lost();
    await first.record.saved();
    await clock.advance(10_000);
    const { outages } = await daemon(from - 11_000, false);
    expect(outages.at(from + 1)).to.equal(undefined);
    expect(outages.endedByEngine({ startedAt: 0, exitedAt: from + 1, exitCode: 0 })).to.equal(
      false,
    );
  });

  it('last until now at most if the start of the engine is unknown', async () => {
    const first = await daemon(undefined, false);
    const from = clock.now();
    first.outages.lost();
    await first.record.saved();
    await clock.advance(10_000);
    const to = clock.now();
    const { outages } = await daemon(undefined, false);
    await clock.advance(10_000);
    expect(outages.at(from + 1)).to.deep.equal({ from, to, observed: true });
    expect(outages.at(to + 1)).to.equal(undefined);
  });

  it('are kept by a process that does not reach the engine', async () => {
    const first = await daemon(clock.now() - 1_000, false);
    const from = clock.now();
    first.outages.lost();
    await first.record.saved();
    const away = new OutageRecord(join(directory, 'containers'), logger);
    await clock.advance(10_000);
    new EngineOutages(clock, away).lost();
    await away.saved();
    await clock.advance(10_000);
    const to = clock.now();
    const { outages } = await daemon(to, false);
    expect(outages.at(from + 1)).to.deep.equal({ from, to, observed: true });
  });

  it('are unknown if the record is damaged, which is reported, and replaced', async () => {
    const { record } = await daemon(undefined);
    expect(logger.lines, 'no record yet').to.deep.equal([]);
    const file = join(directory, 'containers/engine-outages.json');
    for (const text of ['{', '[]', '{"seenAt":"x"}', '{"seenAt":1,"outages":[{"from":"1"},7]}']) {
      await writeFile(file, text);
      expect((await record.read())?.outages ?? [], text).to.deep.equal([]);
    }
    expect(JSON.stringify(logger.lines)).to.contain('earlier outages');
    await daemon(clock.now());
    expect(JSON.parse(await readFile(file, 'utf8'))).to.deep.include({ seenAt: clock.now() });
  });
});
