import { expect } from 'chai';
import fc from 'fast-check';
import { seededRandom } from '../../base/index.js';
import { FakeClock, HostileFileSystem } from '../../testing/index.js';
import { HighWaterMark } from './high-water.js';

const path = '/data/high-water';

async function created(files: HostileFileSystem): Promise<HighWaterMark> {
  await files.makeDirectory('/data');
  await files.syncDirectory('/');
  const mark = new HighWaterMark(files, path, new FakeClock());
  expect(await mark.read()).to.deep.equal({ type: 'missing' });
  await mark.create();
  return mark;
}

describe('high-water mark', () => {
  it('exists completely or does not exist, regardless of which call of its creation loses power or fails', async () => {
    const calls = new HostileFileSystem();
    await created(calls);
    for (let call = 1; call <= calls.calls; call += 1) {
      for (const type of ['powerLoss', 'error', 'errorAfter'] as const) {
        for (let seed = 0; seed < 20; seed += 1) {
          const files = new HostileFileSystem({ random: seededRandom(seed) });
          files.faultAt(call, type === 'powerLoss' ? { type } : { type, code: 'EIO' });
          await created(files).catch(() => undefined);
          files.restart();
          const state = await new HighWaterMark(files, path, new FakeClock()).read();
          const whole = state.type === 'missing' || (state.type === 'mark' && state.revision === 0);
          expect(whole, `call ${call}, ${type}, seed ${seed}: ${state.type}`).to.equal(true);
        }
      }
    }
  });

  it('is never below a confirmed revision or above a noted one, across power losses and failed writes', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer(),
        fc.array(
          fc.record({
            step: fc.constantFrom('note', 'confirm', 'second', 'powerLoss', 'reopen'),
            fault: fc.constantFrom(undefined, 'error', 'errorAfter', 'powerLoss'),
            within: fc.nat(3),
          }),
          { maxLength: 40 },
        ),
        async (seed, steps) => {
          const files = new HostileFileSystem({ random: seededRandom(seed) });
          const clock = new FakeClock();
          let mark = await created(files);
          let confirmed = 0;
          let noted = 0;
          const reopen = async (): Promise<void> => {
            mark = new HighWaterMark(files, path, clock);
            const state = await mark.read();
            if (state.type !== 'mark') return expect.fail(`the mark is ${state.type}`);
            expect(state.revision).to.be.within(confirmed, noted);
          };
          for (const { step, fault, within } of steps) {
            const at = files.calls + 1 + within;
            if (fault === 'powerLoss') files.faultAt(at, { type: fault });
            else if (fault) files.faultAt(at, { type: fault, code: 'EIO' });
            if (step === 'note') mark.note((noted += 1));
            if (step === 'confirm') {
              const revision = (noted += 1);
              const done = await mark.confirm(revision).then(
                () => true,
                () => false,
              );
              if (done) confirmed = revision;
            }
            if (step === 'second') await clock.advance(1_000);
            if (step === 'reopen') await mark.close().catch(() => undefined);
            if (step === 'reopen' || step === 'powerLoss' || files.dead) {
              if (files.dead || step === 'powerLoss') files.restart();
              await reopen().catch((error: unknown) => {
                // The read itself failed: open again.
                if (!/EIO/.test(String(error))) throw error;
                files.restart();
                return reopen();
              });
            }
          }
        },
      ),
      { numRuns: 300 },
    );
  });

  it('that could not be written is written a second later', async () => {
    const files = new HostileFileSystem();
    await files.makeDirectory('/data');
    const clock = new FakeClock();
    const mark = new HighWaterMark(files, path, clock);
    await mark.create();
    mark.note(7);
    for (let call = 1; call <= 6; call += 1)
      files.faultAt(files.calls + call, { type: 'error', code: 'EIO' });
    await clock.advance(2_500);
    files.restart();
    expect(await new HighWaterMark(files, path, clock).read()).to.include({ revision: 0 });
    await mark.close().catch(() => undefined);
    expect(clock.pending).to.equal(0);

    const again = new HighWaterMark(files, path, clock);
    await again.read();
    again.note(9);
    files.faultAt(files.calls + 1, { type: 'error', code: 'ENOSPC' });
    await clock.advance(1_000);
    await clock.advance(1_000);
    files.restart();
    expect(await new HighWaterMark(files, path, clock).read()).to.include({ revision: 9 });
  });
});
