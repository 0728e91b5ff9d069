import { expect } from 'chai';
import { systemClock } from '../../base/index.js';
import type { EncodedRecord } from '../record/record-codec.js';
import { type Commit, CommitPipeline } from './commit-pipeline.js';

describe('a commit pipeline', () => {
  it('never appends commits that it rejected after a failure', async () => {
    const appended: number[] = [];
    const published: number[] = [];
    let fails = true;
    const pipeline = new CommitPipeline<Commit>({
      clock: systemClock,
      append: async (records) => {
        // The next commits are queued meanwhile.
        await new Promise((resolve) => setImmediate(resolve));
        if (fails) throw new Error('no answer');
        appended.push(...records.map(({ revision }) => revision));
      },
      publish: (batch) => published.push(...batch.flatMap((c) => c.records.map((r) => r.revision))),
      onFailure: () => undefined,
    });
    const commit = (revision: number): Promise<string> =>
      new Promise((resolve) =>
        pipeline.enqueue({
          records: [{ revision } as EncodedRecord],
          bytes: 1,
          resolve: () => resolve(`${revision} is durable`),
          reject: ({ message }) => resolve(message),
        }),
      );
    const first = commit(1);
    await Promise.resolve();
    await Promise.resolve();
    const behind = commit(2);
    for (const outcome of [await first, await behind]) expect(outcome).to.contain('no answer');
    await pipeline.drain();
    fails = false;
    pipeline.revive();
    expect(await commit(3)).to.equal('3 is durable');
    await pipeline.drain();
    expect([appended, published]).to.deep.equal([[3], [3]]);
  });
});
