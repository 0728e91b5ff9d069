import { expect } from 'chai';
import { FakeClock, RecordingLogger, settle } from 'kedge/testing';
import { memoryJournal, type NodeUndo } from '@kedge/driver-sdk';
import { thawLeftovers } from './node-recovery.js';

describe('the thaw at the start', () => {
  it('does not hold up the start for ever: a device that does not answer is told and left to the next one', async () => {
    const clock = new FakeClock();
    const logger = new RecordingLogger();
    const journal = memoryJournal();
    const state = { type: 'freeze', uid: 'u', device: '/dev/loop3' } as const;
    await journal.make(state, () => Promise.resolve());
    let given: AbortSignal | undefined;
    const never = (): Promise<never> => new Promise(() => undefined);
    const undo = (signal: AbortSignal): NodeUndo => {
      given = signal;
      return { thaw: never, unmount: never, detach: never };
    };
    let started = false;
    const start = thawLeftovers({ journal, logger, clock, undo }).then(() => (started = true));
    await clock.advance(29_000);
    await settle();
    expect(started).to.equal(false);
    await clock.advance(1_000);
    await start;
    expect(given?.aborted).to.equal(true);
    expect(logger.lines.map(({ message }) => message).join()).to.contain('not undone after 30 s');
    expect(await journal.has(state)).to.equal(true);
  });
});
