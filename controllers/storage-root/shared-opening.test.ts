import { expect } from 'chai';
import { SharedOpening } from './shared-opening.js';

interface Value {
  readonly n: number;
  closed: number;
  close(): Promise<void>;
}

/** Openings that end when the test requests it. */
function world(): {
  readonly openings: SharedOpening<Value>;
  readonly begun: Value[];
  readonly settle: ((error?: Error) => Promise<void>)[];
} {
  const begun: Value[] = [];
  const settle: ((error?: Error) => Promise<void>)[] = [];
  const openings = new SharedOpening<Value>(
    () =>
      new Promise((resolve, reject) => {
        const value: Value = {
          n: begun.length,
          closed: 0,
          close: () => {
            value.closed += 1;
            return Promise.resolve();
          },
        };
        begun.push(value);
        settle.push(async (error) => {
          if (error) reject(error);
          else resolve(value);
          await turns();
        });
      }),
  );
  return { openings, begun, settle };
}

const turns = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('an opening that callers share', () => {
  it('begins once for callers of one time, and not before their call', async () => {
    const { openings, begun, settle } = world();
    const first = [openings.lease(), openings.lease()];
    await turns();
    expect(begun).to.have.length(1);
    const later = [openings.lease(), openings.lease(), openings.lease()];
    await turns();
    expect(begun, 'one at a time').to.have.length(1);
    await settle[0]!();
    expect(begun, 'the later ones share the next').to.have.length(2);
    await settle[1]!();
    expect((await Promise.all(first)).map(({ value }) => value.n)).to.deep.equal([0, 0]);
    expect((await Promise.all(later)).map(({ value }) => value.n)).to.deep.equal([1, 1, 1]);
  });

  it('is closed by the last of its callers, once', async () => {
    const { openings, begun, settle } = world();
    const leases = [openings.lease(), openings.lease()];
    await turns();
    await settle[0]!();
    const [one, other] = await Promise.all(leases);
    await one!.close();
    await one!.close();
    expect(begun[0]!.closed).to.equal(0);
    await other!.close();
    expect(begun[0]!.closed).to.equal(1);
  });

  it('that fails rejects for its callers, and not for those of the next', async () => {
    const { openings, settle } = world();
    const failed = Promise.allSettled([openings.lease(), openings.lease()]);
    await turns();
    const next = openings.lease();
    await settle[0]!(new Error('the disk is gone'));
    expect((await failed).map(({ status }) => status)).to.deep.equal(['rejected', 'rejected']);
    await settle[1]!();
    expect((await next).value.n).to.equal(1);
  });
});
