import { expect } from 'chai';
import { hasCode } from 'kedge';
import type { JsonObject } from 'kedge/rpc';
import { shownExit } from './exec-exit.js';

class Sink {
  text = '';
  write(data: Buffer): void {
    this.text += String(data);
  }
}

async function* stream(...answers: readonly JsonObject[]): AsyncIterable<JsonObject> {
  await Promise.resolve();
  yield* answers;
}

const output = { stdout: Buffer.from('out').toString('base64') };

describe('the exit of a command in an instance', () => {
  it('is returned with the exit code and the signal after all output', async () => {
    const [stdout, stderr] = [new Sink(), new Sink()];
    const answers = stream(output, { exit: { code: 129, signal: 'SIGHUP' } });
    expect(await shownExit(answers, { stdout, stderr })).to.deep.equal({
      code: 129,
      signal: 'SIGHUP',
    });
    expect([stdout.text, stderr.text]).to.deep.equal(['out', '']);
    expect(await shownExit(stream({ exit: {} }), { stdout, stderr })).to.deep.equal({
      code: 0,
      signal: '',
    });
  });

  it('is Unavailable if the stream ends without an exit', async () => {
    const streams = { stdout: new Sink(), stderr: new Sink() };
    const failure: unknown = await shownExit(stream(output), streams).catch(
      (error: unknown) => error,
    );
    expect(hasCode(failure, 'Unavailable')).to.equal(true);
    expect(streams.stdout.text).to.equal('out');
  });
});
