// Controllers, driver local and volume manager on the node of this process, controlled by messages of the model.
// Argument: the directory of store, journal, mounts and storage root. Runs until it is killed.
import { join } from 'node:path';
import {
  effectRecords,
  LevelEngine,
  lockDirectory,
  messageOf,
  openStore,
  silentLogger,
  systemClock,
  systemRandom,
} from 'kedge';
import {
  defaultPolicy,
  snapshots,
  StorageRootManager,
  StorageRootWatch,
  thawLeftovers,
  UsedParameters,
  volumes,
} from '@kedge/controllers';
import { directoryJournal, thisNode } from '@kedge/driver-sdk';
import { builtinDrivers } from '@kedge/drivers';
import { ModelApi } from '../../model-api.js';
import { modelSealer, ModelProcess } from '../../process.js';
import { prepareStore } from '../prepare-store.js';
import type { Calls, Order, Report, When } from './protocol.js';
import { steppedHost } from './stepped-host.js';

const [directory = ''] = process.argv.slice(2);
const report = (message: Report): void => void process.send?.(message);

interface Plan {
  readonly id: number;
  readonly at: number;
  readonly when: When;
}

let steps = 0;
let plans: readonly Plan[] = [];
const waiting = new Map<number, () => void>();

const host = steppedHost(thisNode, async (when, step) => {
  steps += 1;
  const due = plans.filter((plan) => plan.when === when && plan.at <= steps);
  plans = plans.filter((plan) => !due.includes(plan));
  for (const { id } of due)
    await new Promise<void>((resolve) => {
      waiting.set(id, resolve);
      report({ type: 'met', id, step });
    });
});

const node = 'n1';
const clock = systemClock;
const logger = silentLogger;
const path = join(directory, 'disk');
const store = await openStore({ engine: new LevelEngine({ directory: join(directory, 'store') }) });
await prepareStore(store);
const storageRoot = new StorageRootManager({
  store,
  node,
  driver: 'local',
  path,
  lock: lockDirectory,
  logger,
});
const journal = directoryJournal(join(directory, 'node-journal'));
const settings = { localVolumeRoot: path, storageRoot, journal, host };
const local = await builtinDrivers({
  ...settings,
  hostPathAllowlist: [],
  allowCreateMissing: false,
}).get('local');
const drivers = { names: ['local'], get: () => Promise.resolve(local) };
const used = new UsedParameters({
  directory: join(directory, 'mount-parameters'),
  sealer: modelSealer,
  logger,
});
const policy = {
  ...defaultPolicy,
  driverBackoffBaseMs: 50,
  driverBackoffMaxMs: 500,
  stalledProbeMs: 500,
};
const { manager, volumeManager } = new ModelProcess({
  store,
  used,
  clock,
  random: systemRandom,
  drivers: () => drivers,
  node: { host, journal, mountRoot: join(directory, 'mounts'), mayMount: true },
  policy,
});
manager.addRunnable(
  new StorageRootWatch({
    store,
    clock,
    logger,
    policy,
    storageRoot,
    node,
  }),
);
// Writes do not wait: kills happen at steps of the node.
const prompt = { ...systemRandom, next: () => 0.999 };
const api = new ModelApi({ store, drivers, sealer: modelSealer, clock, random: prompt });

const kinds = { Volume: volumes, Snapshot: snapshots } as const;
const calls: Calls = {
  create: (kind, object) => api.create(kinds[kind], object),
  change: (kind, key, fields) => api.change(kinds[kind], key, fields),
  delete: (kind, key) => api.delete(kinds[kind], key),
  volumes: async () => (await store.list(volumes)).items,
  snapshots: async () => (await store.list(snapshots)).items,
  operations: async () =>
    (await store.list(effectRecords)).items.map(({ of, key }) => `${of} ${key}`),
  ensure: (instance, mount) => volumeManager.ensure(instance, mount),
  letGo: async (claim) =>
    (await volumeManager.releaseWithSoftTimeout(claim)) && volumeManager.held(claim).length === 0,
};

function obey(order: Order): void {
  switch (order.type) {
    case 'call': {
      const { id, method, args } = order;
      const call = calls[method].bind(calls) as (...given: readonly unknown[]) => Promise<unknown>;
      void call(...args).then(
        // Sizes are texts in messages, because JSON has no bigint.
        (value) => report({ type: 'answer', id, value: method === 'create' ? undefined : value }),
        (error: unknown) => report({ type: 'failure', id, message: messageOf(error) }),
      );
      return;
    }
    case 'plan':
      plans = [...plans, { id: order.id, at: steps + order.steps, when: order.when }];
      return;
    case 'goOn':
      waiting.get(order.id)?.();
      return;
    case 'forget':
      plans = [];
  }
}

await thawLeftovers({ journal, host, logger, clock });
await manager.start();
await volumeManager.adopt();
process.on('message', (order) => obey(order as Order));
report({ type: 'ready' });
