import { expect } from 'chai';
import { ApiClient, RemoteStore } from './client/index.js';
import {
  type ApiObject,
  Controller,
  defineKind,
  EventRecorder,
  LeaderElector,
  LevelEngine,
  Manager,
  MemoryEngine,
  newController,
  newGarbageCollector,
  openStore,
  RateLimitingQueue,
  SharedInformer,
  StatusError,
} from './index.js';
import { ApiServer } from './server/index.js';

const store = await openStore({ engine: new MemoryEngine() });
const lamps = defineKind<ApiObject>({
  kind: 'Lamp',
  plural: 'lamps',
  scope: 'Cluster',
  statusFields: [],
});
const reconcile = (): never => {
  throw new Error('not run');
};

/** Constructors and factories, with valid options of each. */
const parts: readonly (readonly [string, (options: never) => unknown, object])[] = [
  ['openStore', openStore, { engine: new MemoryEngine() }],
  ['LevelEngine', (options) => new LevelEngine(options), { directory: '/nowhere' }],
  ['Manager', (options) => new Manager(options), { store }],
  [
    'SharedInformer',
    (options) => new SharedInformer(options),
    { source: store.source(lamps), name: 'lamps' },
  ],
  ['Controller', (options) => new Controller(options), { name: 'lamp', reconcile }],
  ['newController', newController, { name: 'lamp', reconcile, store }],
  ['newGarbageCollector', newGarbageCollector, { store, kinds: [] }],
  ['EventRecorder', (options) => new EventRecorder(options), { store, source: 'lamp' }],
  [
    'LeaderElector',
    (options) => new LeaderElector(options),
    { store, name: 'jobs', identity: 'one' },
  ],
  [
    'RateLimitingQueue',
    (options) => new RateLimitingQueue(options),
    {
      clock: { now: () => 0, monotonic: () => 0, setTimer: () => ({ cancel: () => undefined }) },
      limiter: { when: () => 0, failures: () => 0, forget: () => undefined },
    },
  ],
  ['RemoteStore', (options) => RemoteStore.connect(options), { server: 'localhost:1' }],
  ['ApiClient', (options) => new ApiClient(options), {}],
  ['ApiServer', (options) => new ApiServer(options), {}],
];

async function refusal(make: (options: never) => unknown, options: unknown): Promise<string> {
  try {
    await make(options as never);
  } catch (error) {
    const known = error instanceof TypeError || error instanceof StatusError;
    expect(known, String(error)).to.equal(true);
    return (error as Error).message;
  }
  return 'not refused';
}

describe('options of constructors and factories', () => {
  after(() => store.close());
  /** The errors of the JavaScript engine for a missing value, which name no option. */
  const raw = /Cannot (read|destructure|use|convert)|is not (a function|iterable)|must be of type/;

  for (const [name, make, good] of parts) {
    it(`${name}: no options, and an empty object, are refused by the name of the missing option`, async () => {
      const empty = await refusal(make, {});
      expect(empty)
        .to.match(/(is|:) undefined.*; give /)
        .and.not.match(raw);
      for (const none of [undefined, null, 7]) {
        const message = await refusal(make, none);
        expect(message).to.match(/options are (undefined|null|7); give an object/);
      }
    });

    const fields = [...Object.keys(good), ...('store' in good ? ['clock', 'logger'] : [])];
    for (const field of fields)
      it(`${name}: an invalid ${field} is refused by its name`, async () => {
        const message = await refusal(make, { ...good, [field]: 7 });
        expect(message).to.contain(field).and.contain('7').and.not.match(raw);
      });
  }

  const wrong: readonly (readonly [unknown, RegExp])[] = [
    [undefined, /^operations: is undefined; give a list/],
    [[undefined], /^operations\[0\]: is undefined; give an operation/],
    [[{}], /^operations\[0\]\.op: is undefined; give one of create, update/],
    [[{ op: 'upsert', kind: lamps }], /^operations\[0\]\.op: is "upsert"; give one of create,/],
    [[{ op: 'toString', kind: lamps }], /^operations\[0\]\.op: is "toString"/],
    [[{ op: 'create', object: {} }], /^operations\[0\]\.kind: is undefined; give what defineKind/],
    [[{ op: 'create', kind: lamps }], /^operations\[0\]\.object: is undefined; "create" needs/],
    [[{ op: 'check', kind: lamps }], /^operations\[0\]\.key: is undefined; "check" needs/],
  ];
  for (const [operations, message] of wrong)
    it(`transact refuses ${JSON.stringify(operations) ?? 'nothing'} by the name of the invalid part`, async () => {
      const refused: unknown = await store.transact(operations as never).catch((e: unknown) => e);
      expect((refused as StatusError).code, String(refused)).to.equal('InvalidArgument');
      expect((refused as StatusError).message).to.match(message);
      expect(store.health().state).to.equal('serving');
    });
});
