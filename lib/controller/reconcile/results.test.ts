import { expect } from 'chai';
import { hasCode, seededRandom } from '../../base/index.js';
import { type ApiObject, defineKind } from '../../object/index.js';
import { MemoryEngine, openStore } from '../../store/index.js';
import { FakeClock, RecordingLogger, RecordingMetrics, settle } from '../../testing/index.js';
import {
  type Controller,
  done,
  newController,
  type ReconcileContext,
  requeueAfter,
  type Result,
} from '../index.js';

const wrong: Readonly<Record<string, { readonly given: unknown; readonly message: string }>> = {
  undefined: { given: undefined, message: 'the reconciler returned undefined; return done()' },
  null: { given: null, message: 'the reconciler returned null' },
  'a string': { given: 'done', message: 'the reconciler returned done' },
  'an empty object': { given: {}, message: 'an object of type undefined' },
  'an unknown type': { given: { type: 'later' }, message: 'an object of type later' },
  'a name that objects inherit': {
    given: { type: 'toString' },
    message: 'an object of type toString',
  },
  'a delay of NaN': { given: requeueAfter(Number.NaN), message: 'requeueAfter has the delay NaN' },
  'a negative delay': { given: requeueAfter(-1), message: 'requeueAfter has the delay -1' },
  'an infinite delay': {
    given: requeueAfter(Infinity),
    message: 'requeueAfter has the delay Infinity',
  },
  'a delay as a string': {
    given: { type: 'requeueAfter', delayMs: '5' },
    message: 'requeueAfter has the delay 5',
  },
  'a poll delay of 0': {
    given: { type: 'pending', pollAfterMs: 0 },
    message: 'pending has pollAfterMs 0; give milliseconds, a finite number, 100 or more',
  },
  'a fractional priority': {
    given: requeueAfter(1, 0.5),
    message: 'requeueAfter has the priority 0.5',
  },
  'a priority out of range': { given: requeueAfter(1, 5_000), message: 'the priority 5000' },
  'a failure without a reason': { given: { type: 'fail' }, message: 'fail needs a reason' },
};

describe('results of a reconciler', () => {
  let clock: FakeClock;
  let logger: RecordingLogger;
  let metrics: RecordingMetrics;
  let controller: Controller;

  beforeEach(() => {
    clock = new FakeClock();
    logger = new RecordingLogger();
    metrics = new RecordingMetrics();
  });
  afterEach(() => controller.stop(0));

  async function start(
    reconcile: (context: ReconcileContext) => unknown,
    more: { readonly timeoutMs?: number } = {},
  ): Promise<void> {
    controller = newController({
      name: 'odd',
      clock,
      random: seededRandom(1),
      logger,
      metrics,
      backoff: { baseMs: 100, maxMs: 10_000, jitter: 0 },
      reconcile: reconcile as () => Promise<Result>,
      ...more,
    });
    await controller.start();
  }

  for (const [name, { given, message }] of Object.entries(wrong))
    it(`${name} is retried with backoff, and the error names the problem; the worker continues`, async () => {
      const runs: string[] = [];
      await start(({ key }) => {
        runs.push(key.name);
        return key.name === 'a' ? given : done();
      });
      controller.enqueue({ name: 'a' });
      controller.enqueue({ name: 'b' });
      await clock.advance(1_000);
      expect(runs.filter((key) => key === 'a')).to.have.length(4);
      expect(runs, 'the other key').to.include('b');
      const [line] = logger.fieldsOf('reconcile failed, will retry');
      expect(line?.['error']).to.contain(message);
      expect(controller.stats().errors).to.equal(4);
    });

  it('a delay beyond the maximum of Node.js timers is valid', async () => {
    const runs: string[] = [];
    await start(({ key }) => {
      runs.push(key.name);
      return requeueAfter(2 ** 31 + 10);
    });
    controller.enqueue({ name: 'a' });
    await clock.advance(2 ** 31);
    expect(runs).to.have.length(1);
    await clock.advance(10);
    expect(runs).to.have.length(2);
  });

  it('on the real clock an invalid delay does not loop', async () => {
    let runs = 0;
    controller = newController({
      name: 'odd',
      reconcile: () => {
        runs += 1;
        return Promise.resolve(requeueAfter(Number.NaN));
      },
    });
    await controller.start();
    controller.enqueue({ name: 'a' });
    await settle();
    for (let turn = 0; turn < 1_000; turn += 1) await Promise.resolve();
    expect(runs).to.be.lessThan(8);
  });

  it('a transaction with an invalid result commits nothing', async () => {
    const lamps = defineKind<ApiObject>({
      kind: 'Lamp',
      plural: 'lamps',
      scope: 'Cluster',
      statusFields: [],
    });
    await using store = await openStore({ engine: new MemoryEngine(), clock });
    const errors: unknown[] = [];
    controller = newController({
      name: 'odd',
      store,
      clock,
      reconcile: (context) =>
        context
          .txn((txn) => {
            txn.create(lamps, { name: 'a' });
            return requeueAfter(Number.NaN);
          })
          .catch((error: unknown) => {
            errors.push(error);
            return done();
          }),
    });
    await controller.start();
    controller.enqueue({ name: 'x' });
    await settle();
    expect(hasCode(errors[0], 'InvalidArgument') && errors[0].reason).to.equal('InvalidResult');
    expect((await store.list(lamps)).items).to.deep.equal([]);
    await controller.stop(0);
  });

  it('counts each run beyond its time limit once, also if it ignores its signal', async () => {
    await start(
      async ({ key, signal }) => {
        if (key.name === 'ignores-abort')
          await new Promise<void>((resolve) => clock.setTimer(resolve, 9_000));
        else await new Promise((resolve) => signal.addEventListener('abort', resolve));
        return done();
      },
      { timeoutMs: 5_000 },
    );
    const count = (): number =>
      metrics.value('controller_runtime_reconcile_timeouts_total', { controller: 'odd' });
    controller.enqueue({ name: 'a' });
    await clock.advance(5_000);
    expect(count()).to.equal(1);
    controller.enqueue({ name: 'ignores-abort' });
    await clock.advance(10_000);
    expect(count()).to.equal(2);
    expect(controller.stats().timeouts).to.equal(2);
  });

  it('invalid options are refused with name and value', async () => {
    const reconcile = (): Promise<Result> => Promise.resolve(done());
    const make = (more: object) => () => newController({ name: 'odd', reconcile, ...more });
    expect(make({ concurrency: 0 })).to.throw(RangeError, 'concurrency is 0');
    expect(make({ concurrency: Number.NaN })).to.throw(RangeError, 'concurrency is NaN');
    expect(make({ timeoutMs: Infinity })).to.throw(RangeError, 'timeoutMs is Infinity');
    expect(make({ backoff: { baseMs: Number.NaN, maxMs: 1 } })).to.throw(
      RangeError,
      'backoff.baseMs',
    );
    expect(make({ reconcile: undefined })).to.throw(TypeError, 'reconcile is undefined');
    await start(reconcile);
    expect(() => controller.enqueue({ name: 'a' }, 0.5)).to.throw(RangeError, '0.5');
  });

  it('starts once, and not after a stop', async () => {
    let active = 0;
    let most = 0;
    await start(async () => {
      active += 1;
      most = Math.max(most, active);
      await settle();
      active -= 1;
      return done();
    });
    await controller.start();
    for (const name of ['a', 'b', 'c']) controller.enqueue({ name });
    await clock.advance(10);
    expect(most, 'workers').to.equal(1);
    const other = newController({ name: 'other', clock, reconcile: async () => done() });
    await other.stop(0);
    const error = await other.start().catch((e: unknown) => e);
    expect(hasCode(error, 'FailedPrecondition') && error.reason).to.equal('ControllerStopped');
  });
});
