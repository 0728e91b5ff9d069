import { expect } from 'chai';
import { type Logger, type Metrics, seededRandom, type Tracer } from '../base/index.js';
import { SharedInformer } from '../informer/index.js';
import { type ApiObject, defineKind, type ObjectKey } from '../object/index.js';
import { MemoryEngine, type ObjectStore, openStore } from '../store/index.js';
import { FakeClock, RecordingLogger, RecordingMetrics } from '../testing/index.js';
import {
  type ControllerOptions,
  done,
  newController,
  type Predicate,
  requeueAfter,
  retry,
} from './index.js';

interface Lamp extends ApiObject {
  readonly on?: boolean;
}
const lamps = defineKind<Lamp>({
  kind: 'Lamp',
  plural: 'lamps',
  scope: 'Cluster',
  statusFields: [],
});

const broken = (): never => {
  throw new Error('broken');
};
const rejected = (): never => Promise.reject(new Error('broken later')) as never;
/** Throws for the object `bad` and returns a result for others. */
const forBad =
  <R>(answer: R, fault: () => never = broken) =>
  ({ name }: { readonly name: string }): R =>
    name === 'bad' ? fault() : answer;

const brokenLogger: Logger = {
  debug: broken,
  info: broken,
  warn: broken,
  error: broken,
  child: broken,
};
const brokenMetrics: Metrics = {
  counter: () => ({ inc: broken }),
  gauge: () => ({ set: broken }),
  histogram: () => ({ observe: broken }),
};
const brokenSpan = { setAttributes: broken, recordError: broken, end: broken };

interface Case {
  readonly options?: Partial<ControllerOptions>;
  readonly predicate?: Predicate<Lamp>;
  readonly map?: (lamp: Lamp) => readonly ObjectKey[];
  /** Runs of `bad` after its creation and one update; default 2. */
  readonly runsOfBad?: number;
  /** The name of the callback in the log and the metric; absent if nothing can be reported. */
  readonly reported?: string;
}

const itself = ({ name }: Lamp): readonly ObjectKey[] => [{ name }];
const limiter = { when: () => 0, failures: () => 0, forget: () => undefined };

const cases: Readonly<Record<string, Case>> = {
  'a predicate that throws': { predicate: (_, lamp) => forBad(true)(lamp), reported: 'predicate' },
  'a predicate that returns a rejecting promise': {
    predicate: (_, lamp) => forBad(true, rejected)(lamp),
    reported: 'predicate',
  },
  'a map that throws': { map: (lamp) => forBad(itself(lamp))(lamp), runsOfBad: 0, reported: 'map' },
  'a map that returns a rejecting promise': {
    map: (lamp) => forBad(itself(lamp), rejected)(lamp),
    runsOfBad: 0,
    reported: 'map',
  },
  'a map that throws for the new state only': {
    map: (lamp) => (lamp.on ? forBad(itself(lamp))(lamp) : itself(lamp)),
    reported: 'map',
  },
  'a map that returns an invalid key beside a valid one': {
    map: (lamp) => [
      ...forBad(itself(lamp), () => [undefined, {}, { name: 5 }] as never)(lamp),
      ...itself(lamp),
    ],
    reported: 'map',
  },
  'a map that returns undefined': {
    map: (lamp) => forBad(itself(lamp), () => undefined as never)(lamp),
    runsOfBad: 0,
    reported: 'map',
  },
  'a groupOf that throws': { options: { groupOf: forBad('group') }, reported: 'groupOf' },
  'a groupOf that returns a number': {
    options: { groupOf: forBad('group', () => 5 as never) },
    reported: 'groupOf',
  },
  'a limiter whose forget throws': {
    options: { limiter: { ...limiter, forget: broken } },
    reported: 'limiter',
  },
  'a tracer that throws before the run': { options: { tracer: { trace: broken } } },
  'a tracer that throws after the run': {
    options: {
      tracer: {
        async trace(_name, _attributes, work) {
          await work(brokenSpan);
          return broken();
        },
      },
    },
  },
  'a tracer that never runs the work': {
    options: { tracer: { trace: () => Promise.resolve() } as unknown as Tracer },
  },
  'a logger that throws': { options: { logger: brokenLogger } },
  'metrics that throw': { options: { metrics: brokenMetrics } },
};

describe('failing callbacks of the embedder', () => {
  let store: ObjectStore;
  let clock: FakeClock;

  beforeEach(async () => {
    clock = new FakeClock();
    store = await openStore({ engine: new MemoryEngine(), clock });
  });
  afterEach(() => store.close());

  for (const [name, { options, predicate, map, runsOfBad = 2, reported }] of Object.entries(cases))
    it(`${name} affects no other object and no later run${reported ? ', and is reported' : ''}`, async () => {
      const logger = new RecordingLogger();
      const metrics = new RecordingMetrics();
      const runs: string[] = [];
      const source = store.source(lamps);
      await using informer = new SharedInformer({ source, name: 'lamps', kind: 'Lamp', clock });
      await using controller = newController({
        name: 'lamp',
        clock,
        random: seededRandom(1),
        logger,
        metrics,
        reconcile: ({ key }) => {
          runs.push(key.name);
          return Promise.resolve(done());
        },
        ...options,
      });
      if (map) controller.watches(informer, map, predicate);
      else controller.for(informer, predicate);
      const made: Lamp[] = [];
      for (const lamp of ['bad', 'good']) made.push(await store.create(lamps, { name: lamp }));
      informer.start();
      await controller.start();
      await clock.advance(10);
      for (const lamp of made) {
        await store.update(lamps, { ...lamp, on: true });
        await clock.advance(10);
      }
      await clock.advance(5_000);
      expect(runs.filter((key) => key === 'good')).to.have.length(2);
      expect(runs.filter((key) => key === 'bad')).to.have.length(runsOfBad);
      if (!reported) return;
      const callbacks = logger.fieldsOf('callback threw').map(({ callback }) => callback);
      expect(new Set(callbacks)).to.deep.equal(new Set([reported]));
      const labels = { part: 'controller lamp', callback: reported };
      expect(metrics.value('callback_faults_total', labels)).to.equal(callbacks.length);
    });

  for (const [name, when] of Object.entries({
    throws: broken,
    'returns NaN': () => Number.NaN,
    'returns undefined': () => undefined as never,
  }))
    it(`a limiter that ${name} leaves the delay to the backoff of the key`, async () => {
      const logger = new RecordingLogger();
      let runs = 0;
      await using controller = newController({
        name: 'lamp',
        clock,
        logger,
        limiter: { ...limiter, when },
        backoff: { baseMs: 100, maxMs: 1_000, jitter: 0 },
        reconcile: () => {
          runs += 1;
          return Promise.resolve(retry(new Error('not yet')));
        },
      });
      await controller.start();
      controller.enqueue({ name: 'a' });
      await clock.advance(99);
      expect(runs).to.equal(1);
      await clock.advance(201);
      expect(runs).to.equal(3);
      expect(logger.fieldsOf('callback threw').map(({ key }) => key)).to.include('a');
    });

  it('a reconciler that throws synchronously is retried', async () => {
    let runs = 0;
    await using controller = newController({
      name: 'lamp',
      clock,
      backoff: { baseMs: 100, maxMs: 1_000, jitter: 0 },
      reconcile: () => {
        runs += 1;
        return broken();
      },
    });
    await controller.start();
    controller.enqueue({ name: 'a' });
    await clock.advance(100);
    expect(runs).to.equal(2);
  });

  it('a clock that throws while the result of a run is processed loses neither the key nor the worker', async () => {
    let runs = 0;
    let isBroken = false;
    const logger = new RecordingLogger();
    const now = clock.now.bind(clock);
    clock.now = () => (isBroken ? broken() : now());
    await using controller = newController({
      name: 'lamp',
      store,
      clock,
      logger,
      reconcile: () => {
        runs += 1;
        isBroken = runs === 1;
        return Promise.resolve(isBroken ? requeueAfter(3_600_000) : done());
      },
    });
    await controller.start();
    controller.enqueue({ name: 'a' });
    await clock.advance(10);
    expect(runs).to.equal(1);
    isBroken = false;
    controller.enqueue({ name: 'b' });
    await clock.advance(2_000);
    expect(runs).to.equal(3);
    expect(
      logger.fieldsOf('the result of a reconcile could not be processed; the key is retried'),
    ).to.have.length(1);
  });

  it('a selector that throws fails only its own list and watch', async () => {
    await store.create(lamps, { name: 'bad' });
    const fields = (object: ApiObject): boolean => forBad(true)(object);
    const listed = await store.list(lamps, { fields }).catch((error: unknown) => String(error));
    expect(listed).to.equal('Error: broken');
    const stop = new AbortController();
    const watch = async (more: object): Promise<unknown> => {
      try {
        for await (const batch of store.watch(lamps, {
          fromRevision: 0,
          signal: stop.signal,
          ...more,
        })) {
          if (batch.revision === 2) return 'saw it';
        }
        return 'ended';
      } catch (error) {
        return String(error);
      }
    };
    const watching = [watch({ fields }), watch({})];
    await store.create(lamps, { name: 'good' });
    expect(await Promise.all(watching)).to.deep.equal(['Error: broken', 'saw it']);
    stop.abort();
  });
});
