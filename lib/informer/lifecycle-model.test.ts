import { expect } from 'chai';
import fc from 'fast-check';
import { seededRandom, type StatusError } from '../base/index.js';
import { type ApiObject, defineKind, type ListWatch } from '../object/index.js';
import { MemoryEngine, openStore } from '../store/index.js';
import { FakeClock, settle } from '../testing/index.js';
import { type HandlerRegistration, SharedInformer } from './index.js';

const lamps = defineKind<ApiObject>({
  kind: 'Lamp',
  plural: 'lamps',
  scope: 'Cluster',
  statusFields: [],
});

type Mode = 'pass' | 'hang' | 'fail';
const modes: readonly Mode[] = ['pass', 'pass', 'hang', 'fail'];

/** A source whose calls can fail, or hang and ignore their signal. It counts calls, and watches that are not aborted. */
class FaultySource implements ListWatch<ApiObject> {
  readonly #source: ListWatch<ApiObject>;
  mode: Mode = 'pass';
  calls = 0;
  watching = 0;
  watchingMax = 0;

  constructor(source: ListWatch<ApiObject>) {
    this.#source = source;
  }

  async #applyMode(): Promise<void> {
    this.calls += 1;
    if (this.mode === 'fail') throw new Error('no route');
    if (this.mode === 'hang') await new Promise(() => undefined);
  }

  list: ListWatch<ApiObject>['list'] = async (signal) => {
    await this.#applyMode();
    return this.#source.list(signal);
  };

  watch: ListWatch<ApiObject>['watch'] = async (from, sink, signal, cursor) => {
    this.watching += 1;
    this.watchingMax = Math.max(this.watchingMax, this.watching);
    signal.addEventListener('abort', () => (this.watching -= 1), { once: true });
    await this.#applyMode();
    await this.#source.watch(from, sink, signal, cursor);
  };
}

/** A handler that counts its calls, and those after its removal or the close of its informer. */
class Listener {
  readonly #behaviour: Behaviour;
  readonly #mayBeCalled: () => boolean;
  registration: HandlerRegistration | undefined;
  removed = false;
  calls = 0;
  calledTooLate = 0;

  constructor(behaviour: Behaviour, mayBeCalled: () => boolean) {
    this.#behaviour = behaviour;
    this.#mayBeCalled = mayBeCalled;
  }

  readonly #called = (): Promise<void> => {
    this.calls += 1;
    if (this.removed || !this.#mayBeCalled()) this.calledTooLate += 1;
    if (this.#behaviour === 'throw') throw new Error('boom');
    return this.#behaviour === 'hang' ? new Promise(() => undefined) : Promise.resolve();
  };
  readonly onAdd = this.#called;
  readonly onUpdate = this.#called;
  readonly onDelete = this.#called;
}

type Behaviour = 'ok' | 'hang' | 'throw';
const step = fc.oneof(
  fc.record({
    op: fc.constant('add' as const),
    behaviour: fc.constantFrom<Behaviour>('ok', 'ok', 'hang', 'throw'),
  }),
  fc.record({ op: fc.constant('remove' as const), which: fc.nat(5) }),
  fc.record({ op: fc.constant('source' as const), mode: fc.constantFrom(...modes) }),
  fc.record({ op: fc.constantFrom('start', 'start', 'close', 'wait', 'put', 'put') }),
  fc.record({ op: fc.constant('pass' as const), ms: fc.constantFrom(0, 1_000, 40_000) }),
);

describe('the life cycle of an informer under random events', () => {
  it('starts once, ends at once, calls no handler afterwards, and settles all waits', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 25 }), async (steps) => {
        const clock = new FakeClock();
        const store = await openStore({ engine: new MemoryEngine(), clock });
        const source = new FaultySource(store.source(lamps));
        const informer = new SharedInformer({
          source,
          name: 'lamps',
          clock,
          random: seededRandom(3),
        });
        let closed = false;
        let ended = 0;
        let closes = 0;
        const listeners: Listener[] = [];
        const waits: { settled: boolean }[] = [];
        const refused = (act: () => unknown): void => {
          try {
            act();
            expect(closed, 'refused after a close, and only then').to.equal(false);
          } catch (error) {
            if (!closed) throw error;
            expect((error as StatusError).reason).to.equal('InformerClosed');
          }
        };
        const run = async (next: (typeof steps)[number]): Promise<void> => {
          switch (next.op) {
            case 'add': {
              const listener = new Listener(next.behaviour, () => !closed);
              refused(() => {
                listener.registration = informer.addHandler(listener);
                listeners.push(listener);
              });
              return;
            }
            case 'remove': {
              const listener = listeners[next.which];
              listener?.registration?.remove();
              if (listener) listener.removed = true;
              return;
            }
            case 'source':
              source.mode = next.mode;
              return;
            case 'start':
              return refused(() => informer.start());
            case 'close':
              closes += 1;
              closed = true;
              void informer.close().then(() => (ended += 1));
              await settle();
              expect(ended, 'ends at once, regardless of hanging calls').to.equal(closes);
              return;
            case 'wait': {
              const wait = { settled: false };
              const settled = (): void => void (wait.settled = true);
              informer.waitForSync().then(settled, settled);
              waits.push(wait);
              return;
            }
            case 'put':
              await store.create(lamps, { name: `l${store.revision}` });
              return;
            case 'pass':
              return clock.advance(next.ms);
          }
        };
        for (const next of steps) {
          await run(next);
          expect(source.watchingMax, 'one stream at a time').to.be.at.most(1);
          expect(informer.health().healthy && closed, 'closed is not healthy').to.equal(false);
        }
        await run({ op: 'close' });
        const { calls } = source;
        await store.create(lamps, { name: 'afterwards' });
        await clock.advance(120_000);
        expect(source.calls, 'calls of the source after the end').to.equal(calls);
        for (const { calledTooLate } of listeners)
          expect(calledTooLate, 'calls of a handler after its end').to.equal(0);
        expect(
          waits.filter(({ settled }) => !settled),
          'waits that are not settled',
        ).to.deep.equal([]);
        await store.close();
        expect(clock.pending, 'remaining timers').to.equal(0);
      }),
      { numRuns: 150 },
    );
  });
});
