import { expect } from 'chai';
import { SerialWrites } from './serial-writes.js';

/** A promise that is settled from outside. */
function latch(): { readonly promise: Promise<void>; open(): void; break(error: Error): void } {
  let open = (): void => undefined;
  let fail = (_error: Error): void => undefined;
  const promise = new Promise<void>((resolve, reject) => {
    open = resolve;
    fail = reject;
  });
  return { promise, open: () => open(), break: (error) => fail(error) };
}

const turns = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const reasonOf = (work: Promise<void>): Promise<unknown> =>
  work.then(
    () => 'done',
    (error: { readonly reason?: string; readonly message: string }) =>
      error.reason ?? error.message,
  );

describe('writes one at a time', () => {
  it('start in the order of the calls, each after the end of the previous one', async () => {
    const writes = new SerialWrites(() => undefined);
    const steps: string[] = [];
    const latches = [latch(), latch(), latch()];
    const all = latches.map(({ promise }, n) =>
      writes.run(async () => {
        steps.push(`begin ${n}`);
        await promise;
        steps.push(`end ${n}`);
      }),
    );
    latches[2]!.open();
    latches[1]!.open();
    await turns();
    expect(steps).to.deep.equal(['begin 0']);
    latches[0]!.open();
    await Promise.all(all);
    expect(steps.map((one) => one.slice(-1)).join('')).to.equal('001122');
    // A write that is requested during the second of two waits for the second.
    const last = latch();
    const running = [writes.run(turns), writes.run(() => last.promise)];
    await running[0];
    let begun = false;
    const next = writes.run(() => Promise.resolve(void (begun = true)));
    await turns();
    expect(begun).to.equal(false);
    last.open();
    await next;
  });

  it('are acknowledged only when the step after each of them has settled', async () => {
    const settled = latch();
    const writes = new SerialWrites(() => settled.promise);
    let acknowledged = false;
    const write = writes.run(() => Promise.resolve()).then(() => (acknowledged = true));
    await turns();
    expect(acknowledged).to.equal(false);
    settled.open();
    await write;
  });

  it('are refused after the step after one of them failed, until the database is reopened', async () => {
    const settled = latch();
    let settling: Promise<void> | undefined = settled.promise;
    const writes = new SerialWrites(() => settling);
    const failing = reasonOf(writes.run(() => Promise.resolve()));
    const waiting = reasonOf(writes.run(() => expect.fail('was written')));
    settled.break(new Error('no space'));
    expect(await failing).to.equal('no space');
    expect(await waiting).to.equal('WriteFailed');
    settling = undefined;
    expect(await reasonOf(writes.run(() => expect.fail('was written')))).to.equal('WriteFailed');
    writes.restart();
    expect(await reasonOf(writes.run(() => Promise.resolve()))).to.equal('done');
  });
});
