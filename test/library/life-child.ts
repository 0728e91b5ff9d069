// Programs with a single handle that keeps their process alive, and some without one. Argument: which one.
import {
  declareKind,
  LeaderElector,
  Manager,
  MemoryEngine,
  openStore,
  RateLimitingQueue,
  ItemBackoff,
  type Runnable,
  SharedInformer,
  systemClock,
  systemRandom,
} from 'kedge';
import { ApiClient } from 'kedge/client';
import { describeKinds } from 'kedge/server';

const lamps = declareKind({ kind: 'Lamp', plural: 'lamps', scope: 'Cluster', fields: {} });
const store = await openStore({ engine: new MemoryEngine() });
const [, , program = '', argument = ''] = process.argv;
const { signal } = new AbortController();
const say = (text: string): void => console.log(text);
const nothing = async (): Promise<void> => undefined;

/** A runnable without a handle that keeps a process alive. */
const quiet = (overrides: Partial<Runnable> = {}): Runnable => ({
  name: 'quiet',
  start: nothing,
  stop: async () => say('quiet stopped'),
  ...overrides,
});

async function watch(): Promise<void> {
  for await (const batch of store.watch(lamps, { fromRevision: 0, signal })) void batch;
}

async function client(attempts: number): Promise<void> {
  const api = describeKinds('life.v1', [lamps]);
  using remote = new ApiClient({
    ...api,
    server: argument,
    token: 't',
    timeoutMs: 400,
    retry: { attempts },
  });
  await remote.resource(lamps).list();
}

/** Programs by name. Work that is pending after their code has run is not awaited. */
const programs: Readonly<Record<string, () => unknown>> = {
  watch: () => void watch(),
  informer: () => new SharedInformer({ source: store.source(lamps), name: 'lamps' }).start(),
  queue: () => {
    const limiter = new ItemBackoff<string>(systemRandom, { baseMs: 60_000, maxMs: 60_000 });
    new RateLimitingQueue<string>({ clock: systemClock, limiter }).addRateLimited('key');
  },
  candidate: () => {
    const elector = new LeaderElector({ store, name: 'lead', identity: 'one' });
    void elector.run({ onStartedLeading: nothing, onStoppedLeading: nothing }, signal);
  },
  manager: () => void new Manager({ store }).addRunnable(quiet()).start(),
  starting: () =>
    void new Manager({ store })
      .addRunnable(quiet({ start: () => new Promise(() => undefined) }))
      .start(),
  hanging: async () => {
    const manager = new Manager({ store });
    manager.addRunnable(quiet({ stop: () => (say('stopping'), new Promise(() => undefined)) }));
    await manager.run(undefined, { stopBudgetMs: 60_000 });
  },
  overrun: async () => {
    const manager = new Manager({ store });
    manager
      .addRunnable(quiet())
      .addRunnable(quiet({ name: 'stuck', stop: () => new Promise(() => undefined) }));
    await manager.run(undefined, { stopBudgetMs: 300 });
  },
  failing: () =>
    new Manager({ store })
      .addRunnable(quiet({ start: () => Promise.reject(new Error('no port')) }))
      .run(),
  aborted: async () => {
    const stop = new AbortController();
    const running = new Manager({ store }).addRunnable(quiet()).run(stop.signal);
    stop.abort();
    await running;
    say('resolved');
  },
  lost: async () => {
    const leaderElection = { name: 'lead', identity: 'one' };
    const times = { leaseDurationMs: 600, renewDeadlineMs: 400, retryPeriodMs: 100 };
    const manager = new Manager({ store, leaderElection: { ...leaderElection, ...times } });
    const running = manager.addRunnable(quiet()).run();
    await manager.elected();
    store.transact = () => new Promise(() => undefined);
    await running;
  },
  once: () => client(1),
  retry: () => client(3),
  // Not awaited: only the pending retry, or the request, is left.
  forgotten: () => void client(3).catch((error: unknown) => say(`failed: ${String(error)}`)),
  // Nothing is awaited or running: only housekeeping is left.
  idle: async () => {
    const expiresAt = new Date(Date.now() + 3_600_000).toISOString();
    await store.create(lamps, { name: 'a', metadata: { expiresAt } });
  },
};

async function main(): Promise<void> {
  await programs[program]?.();
}
main().catch((error: unknown) => {
  say(`error: ${String(error)}`);
  process.exitCode = 1;
});
say('begun');
// Printed only if something else keeps the process alive; otherwise the process exits first, even on a slow
// machine.
setTimeout(() => say('still here'), program === 'idle' ? 30_000 : 300).unref();
