import { Readable } from 'node:stream';
import { expect } from 'chai';
import type { JsonObject } from 'kedge/rpc';
import type { EngineApi } from './engine-api.js';
import { EngineContainers } from './engine-containers.js';

const { signal } = new AbortController();

/** An engine that answers every call with this. */
function containersWith(answer: JsonObject): EngineContainers {
  return new EngineContainers({
    call: () => Promise.resolve(answer),
    stream: () =>
      Promise.resolve({
        body: Readable.from([Buffer.from(JSON.stringify(answer))]),
        failure: () => undefined,
      }),
  } as unknown as EngineApi);
}
const inspected = (state: JsonObject): Promise<unknown> =>
  containersWith({ Id: 'c', State: state })
    .inspect('c', signal)
    .then((found) => found?.exitCode)
    .catch((error: unknown) => error);

describe('the exit code of a container', () => {
  it('is that of the answer to a wait', async () => {
    expect(await containersWith({ StatusCode: 3 }).wait('c', signal)).to.equal(3);
  });

  it('is an error, not 0, for an answer to a wait without a code', async () => {
    for (const answer of [{}, { StatusCode: null }, { StatusCode: 'x' }]) {
      const error = await containersWith(answer)
        .wait('c', signal)
        .catch((thrown: unknown) => thrown);
      expect(error).to.include({ kind: 'Broken' });
    }
  });

  it('is required for a container that ended, and 0 for one that did not', async () => {
    expect(await inspected({ Status: 'exited', ExitCode: 7 })).to.equal(7);
    expect(await inspected({ Status: 'exited' })).to.include({ kind: 'Malformed' });
    expect(await inspected({ Status: 'running' })).to.equal(0);
  });
});
