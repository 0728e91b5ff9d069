import { expect } from 'chai';
import { findCondition, MemoryEngine, type ObjectStore, openStore, type Result } from 'kedge';
import { FakeClock, RecordingLogger, settle } from 'kedge/testing';
import { agentFinalizer } from '../../instance/index.js';
import { instances } from '../../instance/kind.js';
import { PlayedRuntime } from '../../testing/played-runtime.js';
import type { StopProgress } from '../runtime/runtime.js';
import { InstanceNotes, noted } from './instance-notes.js';
import { InstanceTeardown, stopMessage } from './instance-teardown.js';

describe('the message of a stop in progress', () => {
  for (const [sent, message] of [
    ['SIGTERM', 'SIGTERM sent; SIGKILL follows after 20 s'],
    ['SIGQUIT', 'SIGQUIT sent; SIGKILL follows after 20 s'],
    ['SIGKILL', 'SIGKILL sent; its processes have not ended yet'],
    [undefined, 'it is stopped once its start has ended'],
  ] as const)
    it(`names ${sent ?? 'no signal'}`, () => {
      expect(stopMessage(sent, 20)).to.equal(message);
    });
});

describe('the teardown of an instance', () => {
  const key = { namespace: 'default', name: 's-0' };
  let clock: FakeClock;
  let store: ObjectStore;
  let logger: RecordingLogger;
  let notes: InstanceNotes;
  let answer: (progress: StopProgress) => void;
  let teardown: InstanceTeardown;

  beforeEach(async () => {
    clock = new FakeClock();
    logger = new RecordingLogger();
    store = await openStore({ engine: new MemoryEngine(), clock });
    notes = new InstanceNotes({ store, clock });
    const runtime = new PlayedRuntime();
    runtime.requestStop = () => new Promise((resolve) => (answer = resolve));
    teardown = new InstanceTeardown({
      ...{ store, notes, clock, logger, runtimes: [runtime] },
      volumeManager: { releaseWithSoftTimeout: () => Promise.resolve(true) } as never,
      inputs: { remove: () => Promise.resolve() } as never,
      starts: { forget: () => undefined } as never,
      waits: { before: () => Promise.resolve(undefined) } as never,
    });
    const instance = await store.create(instances, {
      ...{ ...key, service: 's', ordinal: 0, node: 'n', template: { runtime: 'process' } },
      metadata: { finalizers: [agentFinalizer] },
    });
    await notes.note(instance, 'Running', [
      noted('Ready', false, 'Starting', 'process 1 is running; ready in 2 s'),
    ]);
    await store.deleteByName(instances, key);
  });
  afterEach(() => store.close());

  const ready = async () => {
    const { reason, message } =
      findCondition((await store.get(instances, key))?.conditions, 'Ready') ?? {};
    return `${String(reason)}: ${String(message)}`;
  };
  const run = async (): Promise<Result> => teardown.run((await store.get(instances, key))!);

  it('says that the stop was requested while the runtime does not answer', async () => {
    const running = run();
    await clock.advance(900);
    expect(await ready()).to.equal('Starting: process 1 is running; ready in 2 s');
    await clock.advance(100);
    await settle();
    expect(await ready()).to.equal(
      'Stopping: its stop was requested, and runtime process has not answered yet',
    );
    answer({ type: 'stopping', checkInMs: 100, sent: 'SIGTERM' });
    await running;
    expect(await ready()).to.equal('Stopping: SIGTERM sent; SIGKILL follows after 30 s');
    // The report of a stop in progress stays while a later call takes long.
    const again = run();
    await clock.advance(5_000);
    await settle();
    expect(await ready()).to.equal('Stopping: SIGTERM sent; SIGKILL follows after 30 s');
    answer({ type: 'gone' });
    await again;
    expect(await store.get(instances, key)).to.equal(undefined);
  });

  it('writes no report of a stop that is answered soon, and ends also if the report fails', async () => {
    const first = run();
    await settle();
    answer({ type: 'stopping', checkInMs: 100, sent: 'SIGTERM' });
    await first;
    expect(clock.pending).to.equal(0);
    await notes.note((await store.get(instances, key))!, undefined, [
      noted('Ready', false, 'Starting', 'x'),
    ]);
    notes.stopping = () => Promise.reject(new Error('the disk is full'));
    const second = run();
    await clock.advance(1_000);
    answer({ type: 'gone' });
    await second;
    expect(logger.lines.map(({ message }) => message)).to.deep.equal([
      'a stop that takes long is not reported',
    ]);
    expect(await store.get(instances, key)).to.equal(undefined);
  });
});
