// Uses volumes on the driver local, including images on loop devices, at random until it is killed. Arguments:
// directory of store, volumes and mounts; seed. Prints a line for every violation.
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { LevelEngine, modify, openStore, seededRandom } from 'kedge';
import {
  snapshotFinalizer,
  snapshots,
  storageClasses,
  volumeFinalizer,
  volumes,
} from '@kedge/controllers';
import { builtinDrivers } from '@kedge/drivers';
import { TestNode } from './node.js';

const [directory = '', seed = '1'] = process.argv.slice(2);
const random = seededRandom(Number(seed));
const pick = <T>(items: readonly T[]): T | undefined =>
  items[Math.floor(random.next() * items.length)];
const settings = {
  localVolumeRoot: join(directory, 'volumes'),
  hostPathAllowlist: [],
  allowCreateMissing: false,
};
const driver = (await builtinDrivers(settings).get('local'))!;
const store = await openStore({ engine: new LevelEngine({ directory }) });
const node = await new TestNode({ store, driver, directory }).start();
for (const backing of ['directory', 'image'])
  await store
    .create(storageClasses, {
      name: backing,
      driver: 'local',
      reclaimPolicy: 'delete',
      parameters: { backing },
    })
    .catch(() => undefined);
const namespace = 'default';
let names = (await store.list(volumes)).revision;

async function create(
  source?: { readonly snapshot: string },
  storageClassName?: string,
): Promise<void> {
  await store.create(volumes, {
    name: `v${(names += 1)}`,
    namespace,
    storageClassName: storageClassName ?? pick(['directory', 'image', 'image']) ?? '',
    size: '16Mi',
    accessMode: 'ReadWriteOnce',
    ...(source ? { source } : {}),
    metadata: { finalizers: [volumeFinalizer] },
  });
}

/** The content that was written at the first mount of a volume must be there at every later one. */
async function mount(): Promise<void> {
  const volume = pick((await store.list(volumes)).items.filter((v) => v.status === 'Available'));
  if (!volume) return;
  const path = await node.mount(`i${Math.floor(random.next() * 3)}`, volume.name);
  const file = join(path, 'owner');
  const found = await readFile(file, 'utf8').catch(() => undefined);
  const written = volume.labels?.['written'] === 'yes';
  if (found !== undefined && !/^[0-9a-f-]{36}$/.test(found))
    console.log(`WRONG ${volume.name}: ${found}`);
  if (written && found === undefined) console.log(`WRONG ${volume.name} lost its file`);
  if (found !== undefined) return;
  await writeFile(file, volume.metadata.uid, { flush: true });
  await modify(store, volumes, { namespace, name: volume.name }, (current) => ({
    ...current,
    labels: { written: 'yes' },
  }));
}

const actions: readonly (() => Promise<unknown>)[] = [
  () => create(),
  () => create(),
  mount,
  mount,
  () => node.release(`i${Math.floor(random.next() * 3)}`),
  async () => {
    const volume = pick((await store.list(volumes)).items.filter((v) => v.handle));
    if (!volume) return;
    await store.create(snapshots, {
      name: `s${(names += 1)}`,
      namespace,
      source: { volume: volume.name },
      metadata: { finalizers: [snapshotFinalizer] },
    });
  },
  async () => {
    const snapshot = pick((await store.list(snapshots)).items.filter((s) => s.status === 'Ready'));
    if (snapshot) await create({ snapshot: snapshot.name }, snapshot.storageClassName);
  },
  async () => {
    const volume = pick((await store.list(volumes)).items);
    if (!volume || (volume.attachments?.length ?? 0) > 0) return;
    const { resourceVersion } = volume.metadata;
    await store.delete(volumes, volume, { resourceVersion });
  },
  async () => {
    const snapshot = pick((await store.list(snapshots)).items);
    if (snapshot) await store.delete(snapshots, snapshot);
  },
];
console.log('ready');
for (;;) {
  await pick(actions)?.().catch(() => undefined);
  await new Promise((resolve) => setTimeout(resolve, random.next() * 15));
}
