import { Readable } from 'node:stream';
import { expect } from 'chai';
import { ExecInput } from './exec-input.js';

const turn = (): Promise<void> =>
  new Promise((resolve) => {
    setImmediate(resolve);
  });

describe('the input of a command', () => {
  it('is read only as fast as the server takes it, and passed on completely', async () => {
    let read = 0;
    const pieces = function* (): Iterable<Buffer> {
      for (; read < 1_000; read += 1) yield Buffer.from([read % 256]);
    };
    const input = new ExecInput();
    const stop = input.from(Readable.from(pieces(), { objectMode: false, highWaterMark: 1 }));
    for (let turns = 0; turns < 100; turns += 1) await turn();
    expect(read).to.be.below(50);
    const passed: Buffer[] = [];
    for await (const { stdin, stdinClosed } of input.messages()) {
      if (stdinClosed === true) break;
      passed.push(Buffer.from(String(stdin), 'base64'));
    }
    stop();
    const whole = Buffer.from(Array.from({ length: 1_000 }, (_, n) => n % 256));
    expect(Buffer.concat(passed).equals(whole)).to.equal(true);
  });

  it('has signals before the standard input that waits, the rest in its order, and ends after what waits', async () => {
    const input = new ExecInput();
    for (const message of [{ start: {} }, { stdin: 'YQ==' }, { resize: {} }]) input.push(message);
    for (const name of ['SIGINT', 'SIGTERM'] as const) input.signal(name);
    input.end();
    const passed = [];
    for await (const message of input.messages()) passed.push(message);
    expect(passed).to.deep.equal([
      { start: {} },
      { signal: 'SIGINT' },
      { signal: 'SIGTERM' },
      { stdin: 'YQ==' },
      { resize: {} },
    ]);
  });
});
