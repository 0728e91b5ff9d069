import { expect } from 'chai';
import { FakeClock, RecordingLogger, settle } from 'kedge/testing';
import { memoryJournal, NodeJournal, type NodeUndo } from '@kedge/driver-sdk';
import { thawLeftovers } from './node-recovery.js';

describe('the thaw at the start', () => {
  it('does not delay the start without limit: a device that does not respond is reported, and the next start retries', async () => {
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
    expect(logger.lines.map(({ message }) => message).join()).to.contain('not thawed after 30 s');
    expect(await journal.has(state)).to.equal(true);
  });

  it('reports for a damaged record without a known device how its file system is thawed', async () => {
    const logger = new RecordingLogger();
    const name = 'freeze-u-0123456789abcdef';
    const place = `/data/journal/${name}.damaged`;
    const journal = new NodeJournal({
      list: () => Promise.resolve([name]),
      read: () => Promise.resolve('{"type'),
      write: () => Promise.resolve(),
      remove: () => Promise.resolve(),
      setAside: () => Promise.resolve(place),
    });
    const none = (): Promise<void> => Promise.resolve();
    const undo = (): NodeUndo => ({ thaw: none, unmount: none, detach: none });
    await thawLeftovers({ journal, logger, clock: new FakeClock(), undo });
    const messages = logger.lines.map(({ message }) => message).join();
    expect(messages).to.contain('volume u may be frozen').and.contain('fsfreeze --unfreeze PATH');
    expect(messages).to.contain(`rm ${place}`);
  });
});
