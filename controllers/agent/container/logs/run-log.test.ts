import { expect } from 'chai';
import { FakeClock } from 'kedge/testing';
import type { EngineContainers } from '../engine/engine-containers.js';
import { EngineOutages } from '../outages/engine-outages.js';
import { readEndedRun } from './run-log.js';

describe('the log of the previous run', () => {
  it('ends with a line about lost output if the run ended in an outage of the engine', async () => {
    const clock = new FakeClock();
    const outages = new EngineOutages(clock);
    outages.connected(false);
    const before = clock.now();
    await clock.advance(60_000);
    outages.lost();
    await clock.advance(1_000);
    const during = clock.now();
    await clock.advance(1_000);
    outages.connected(false);

    const linesOf = async (finishedAt: number): Promise<readonly string[]> => {
      const containers = {
        async *logs() {
          const data = Buffer.from('2026-01-01T00:00:01.000000000Z last\n');
          yield await Promise.resolve({ stream: 'stdout', data, endsFrame: true });
        },
        inspect: () => Promise.resolve({ finishedAt }),
      } as unknown as EngineContainers;
      const lines: string[] = [];
      const { signal } = new AbortController();
      const run = { run: 1, container: 'c' };
      for await (const { content } of readEndedRun({ containers, outages }, run, signal))
        lines.push(content);
      return lines;
    };
    expect(await linesOf(before)).to.deep.equal(['last']);
    const [last, line, ...others] = await linesOf(during);
    expect([last, others]).to.deep.equal(['last', []]);
    expect(line).to.match(
      /^\[kedge\] the container engine was unavailable from .* may be missing$/,
    );
  });
});
