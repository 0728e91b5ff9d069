import { setMaxListeners } from 'node:events';
import { expect } from 'chai';
import fc from 'fast-check';
import type { Clock, Timer } from '../../base/index.js';
import { WatchWakes } from './watch-wakes.js';

/** The maximum time between a publication and the end of the pass to all watchers, if watchers take no time. */
const boundMs = 50;

/** A clock whose time passes only by `advance`; deferred callbacks run by `turn`. */
class StepClock implements Clock {
  #now = 0;
  readonly #deferred: (() => void)[] = [];
  readonly timers = new Set<{ readonly callback: () => void; readonly dueAt: number }>();
  now = (): number => this.#now;
  monotonic = (): number => this.#now;
  turnAgeMs = (): number => 0;
  defer = (callback: () => void): void => void this.#deferred.push(callback);
  setTimer = (callback: () => void, delayMs: number): Timer => {
    const timer = { callback, dueAt: this.#now + delayMs };
    this.timers.add(timer);
    return { cancel: () => void this.timers.delete(timer) };
  };

  get hasDeferred(): boolean {
    return this.#deferred.length > 0;
  }

  turn(): void {
    for (const callback of this.#deferred.splice(0)) callback();
  }

  advance(ms: number): void {
    this.#now += ms;
    for (const timer of [...this.timers])
      if (timer.dueAt <= this.#now && this.timers.delete(timer)) timer.callback();
  }
}

async function settled(): Promise<void> {
  for (let n = 0; n < 8; n += 1) await Promise.resolve();
}

/** Watchers as the hub runs them, of which each may be held up by its reader. */
class World {
  readonly clock = new StepClock();
  readonly wakes = new WatchWakes(this.clock, 0);
  readonly watchers: Watcher[] = [];
  revision = 0;
  readonly #revisions = new Map<string, number[]>();

  join(count: number, isPrompt = false, kind = 'Lamp'): void {
    for (let n = 0; n < count; n += 1) this.watchers.push(new Watcher(this, isPrompt, kind));
  }

  publish(...kinds: readonly string[]): void {
    this.revision += 1;
    for (const kind of kinds) this.#revisions.set(kind, [...this.revisionsOf(kind), this.revision]);
    this.wakes.published([{ revision: this.revision, changes: kinds.map((kind) => ({ kind })) }]);
  }

  revisionsOf(kind: string): readonly number[] {
    return this.#revisions.get(kind) ?? [];
  }

  /** Runs passes and rests without a further publication. */
  async pass(): Promise<void> {
    const turns = async (): Promise<void> => {
      await settled();
      while (this.clock.hasDeferred) {
        this.clock.turn();
        await settled();
      }
    };
    await turns();
    this.clock.advance(boundMs);
    await turns();
  }

  /** Watchers that could have read the last revision, and have not. */
  late(only: (watcher: Watcher) => boolean): number {
    return this.watchers.filter((w) => w.isReading && w.isBehind && only(w)).length;
  }
}

class Watcher {
  readonly #world: World;
  readonly isPrompt: boolean;
  readonly #kind: string;
  readonly stop = new AbortController();
  cursor: number;
  #goOn: (() => void) | undefined;
  isHeld = false;

  constructor(world: World, isPrompt: boolean, kind: string) {
    this.#world = world;
    this.isPrompt = isPrompt;
    this.#kind = kind;
    this.cursor = world.revision;
    setMaxListeners(0, this.stop.signal);
    void this.#run(world);
  }

  /** Whether it has not read the last publication of its kind. */
  get isBehind(): boolean {
    return this.cursor < (this.#world.revisionsOf(this.#kind).at(-1) ?? 0);
  }

  get isReading(): boolean {
    return !this.isHeld && !this.stop.signal.aborted;
  }

  /** Its reader reads no more, or reads again. */
  toggle(): void {
    this.isHeld = !this.isHeld;
    this.#goOn?.();
  }

  async #run(world: World): Promise<void> {
    const { signal } = this.stop;
    using waiter = world.wakes.join(this.#kind, signal, this.isPrompt);
    let seen = this.cursor;
    while (!signal.aborted) {
      if (this.isHeld) await new Promise<void>((resolve) => (this.#goOn = resolve));
      else if (this.cursor < world.revision) seen = this.cursor = world.revision;
      else {
        // Far away: no watcher may depend on its next bookmark.
        const unchangedTo = await waiter.wait(this.isPrompt ? undefined : 1e9);
        this.cursor = Math.max(this.cursor, unchangedTo);
        if (signal.aborted) continue;
        const skipped = world.revisionsOf(this.#kind).filter((r) => r > seen && r <= unchangedTo);
        expect(skipped, 'publications that a watcher skipped').to.deep.equal([]);
      }
    }
  }
}

type Step = (world: World) => void | Promise<void>;
const at = (world: World, n: number): Watcher | undefined =>
  world.watchers[n % Math.max(1, world.watchers.length)];

const steps: fc.Arbitrary<readonly [name: string, step: Step]> = fc.oneof(
  {
    arbitrary: fc
      .constantFrom(['Lamp'], ['Room'], ['Room', 'Lamp'], ['Wall'])
      .map((kinds) => [`publish ${kinds.join()}`, (w: World) => w.publish(...kinds)] as const),
    weight: 6,
  },
  { arbitrary: fc.constant(['turn', (w: World) => w.clock.turn()] as const), weight: 6 },
  { arbitrary: fc.constant(['settle', settled] as const), weight: 6 },
  fc.nat({ max: 60 }).map((ms) => [`${ms} ms`, (w: World) => w.clock.advance(ms)] as const),
  fc
    .tuple(fc.constantFrom(1, 5, 300), fc.boolean(), fc.constantFrom('Lamp', 'Room'))
    .map(
      ([n, prompt, kind]) =>
        [`join ${n} ${kind} ${prompt}`, (w: World) => w.join(n, prompt, kind)] as const,
    ),
  fc.nat().map((n) => [`abort ${n}`, (w: World) => at(w, n)?.stop.abort()] as const),
  fc.nat().map((n) => [`toggle ${n}`, (w: World) => at(w, n)?.toggle()] as const),
  fc.constant(['all', (w: World) => w.wakes.all()] as const),
);

describe('waking of watchers under random events', () => {
  it('reaches all waiting watchers soon after each publication, prompt ones at once, and leaves nothing', async function () {
    this.timeout(60_000);
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(1, 16, 17, 40, 257, 600),
        fc.array(steps, { maxLength: 30 }),
        async (count, taken) => {
          const world = new World();
          world.join(count);
          world.join(1, true);
          for (const [, step] of taken) await step(world);
          await settled();
          expect(world.late(({ isPrompt }) => isPrompt)).to.equal(0);
          await world.pass();
          expect(world.late(() => true)).to.equal(0);
          for (const watcher of world.watchers) {
            watcher.stop.abort();
            if (watcher.isHeld) watcher.toggle();
          }
          await world.pass();
          expect([world.wakes.size, world.clock.timers.size]).to.deep.equal([0, 0]);
        },
      ),
      { numRuns: 300 },
    );
  });
});
