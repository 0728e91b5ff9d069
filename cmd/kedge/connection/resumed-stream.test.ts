import { expect } from 'chai';
import { seededRandom, StatusError } from 'kedge';
import type { JsonObject } from 'kedge/rpc';
import { FakeClock } from 'kedge/testing';
import { resumed } from './resumed-stream.js';

const gone = (code: 'Unavailable' | 'NotFound' = 'Unavailable') =>
  new StatusError({ code, reason: code, message: 'the server is away' });

/** Lines 0 to 9. Each opened stream returns two before the server becomes unavailable. */
class FailingLog {
  readonly opened: string[] = [];
  readonly #error: Error;

  constructor(error: Error = gone()) {
    this.#error = error;
  }

  async *open(after: string): AsyncIterable<JsonObject> {
    this.opened.push(after);
    const from = after === '' ? 0 : Number(after) + 1;
    for (let line = from; line < 10; line += 1) {
      if (line === from + 2) throw this.#error;
      yield await Promise.resolve({ content: `line ${line}`, position: String(line) });
    }
  }
}

describe('a stream that is resumed', () => {
  const read = async (log: FailingLog) => {
    const clock = new FakeClock();
    const lines: string[] = [];
    let lost = 0;
    const { signal } = new AbortController();
    const stream = { open: (after: string) => log.open(after), signal, onLost: () => (lost += 1) };
    const reading = (async () => {
      for await (const { content } of resumed(stream, { clock, random: seededRandom(1) }))
        lines.push(String(content));
    })();
    const ended = reading.then(
      () => 'ended',
      (error: unknown) => String(error),
    );
    await clock.advance(60_000);
    return { lines, lost, outcome: await ended };
  };

  it('yields each response once over repeated outages of the server, and reports each outage', async () => {
    const log = new FailingLog();
    const { lines, lost, outcome } = await read(log);
    expect(lines).to.deep.equal(Array.from({ length: 10 }, (_, n) => `line ${n}`));
    expect(log.opened).to.deep.equal(['', '1', '3', '5', '7']);
    expect([outcome, lost]).to.deep.equal(['ended', 4]);
  });

  it('ends with any other error', async () => {
    const refused = await read(new FailingLog(gone('NotFound')));
    expect(refused.lines).to.have.length(2);
    expect(refused.outcome).to.contain('the server is away');
  });
});
