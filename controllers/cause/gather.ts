import { isDeleting, keyString } from 'kedge/objects';
import type { Instance, KindObjects, Snapshot, Volume } from '@kedge/api/kinds';
import type { CredentialsByDriver } from '@kedge/driver-sdk/parameters';
import {
  emptyWorld,
  readKinds,
  type ReadKind,
  type Subject,
  type World,
} from '../reasons/index.js';
import { mountedVolumes } from '../references/claim.js';
import { referencedSecrets } from '../references/secret-reference.js';
import { sourceSnapshot } from '../volume/kind.js';
import { problemOfStorage } from './reported-problem.js';

/** The objects that explanations read, by kind. */
export type Readable = Pick<KindObjects, ReadKind | 'Namespace'>;

/** The source of objects: the store, or the API with the rights of the caller. */
export interface Reader {
  /** The credentials of drivers, as far as they are known. */
  readonly credentials: CredentialsByDriver;
  /** `NotFound` for an object that does not exist; undefined for one that the caller may not read. */
  readonly get: <K extends keyof Readable>(
    kind: K,
    key: string,
  ) => Promise<Readable[K] | 'NotFound' | undefined>;
  /** Empty for a kind that the caller may not read. @param namespace `-` for all; ignored for a kind without namespaces */
  readonly list: <K extends keyof Readable>(
    kind: K,
    namespace: string,
  ) => Promise<readonly Readable[K][]>;
}

/**
 * The objects of a namespace and those without one, which explain the objects of the namespace. Objects of other
 * namespaces are missing. @param namespace `-` for all
 */
export async function worldOfNamespace(reader: Reader, namespace: string): Promise<World> {
  const lists = Object.entries(readKinds).map(
    async ([kind, list]) => [list, await reader.list(kind as ReadKind, namespace)] as const,
  );
  const world = Object.fromEntries(await Promise.all(lists)) as unknown as World;
  const known = world.storageClasses.map(({ name }) => name);
  const named = [...world.volumes, ...world.snapshots].map((each) => each.storageClassName ?? '');
  const { absentClasses } = await classesOf(
    reader,
    named.filter((name) => !known.includes(name)),
  );
  return { ...world, absentClasses, credentials: reader.credentials };
}

function unique<T extends object>(found: readonly (T | 'NotFound' | undefined)[]): readonly T[] {
  return found.flatMap((each) => (each === undefined || each === 'NotFound' ? [] : [each]));
}

/** The storage classes with names, and those names that no class has. */
async function classesOf(
  reader: Reader,
  names: readonly string[],
): Promise<Required<Pick<World, 'storageClasses' | 'absentClasses'>>> {
  const distinct = [...new Set(names)].filter((name) => name !== '');
  const found = await Promise.all(distinct.map((name) => reader.get('StorageClass', name)));
  return {
    storageClasses: unique(found),
    absentClasses: distinct.filter((_, index) => found[index] === 'NotFound'),
  };
}

async function all<K extends keyof Readable>(
  reader: Reader,
  kind: K,
  keys: readonly string[],
): Promise<readonly Readable[K][]> {
  return unique(
    await Promise.all(
      [...new Set(keys)].filter((key) => key !== '').map((key) => reader.get(kind, key)),
    ),
  );
}

/** The dependencies of volumes: their classes, snapshots and holders, and all nodes. */
async function aroundVolumes(reader: Reader, volumes: readonly Volume[]): Promise<World> {
  const [classes, users, sources, copies, nodes] = await Promise.all([
    classesOf(
      reader,
      volumes.map((volume) => volume.storageClassName),
    ),
    all(
      reader,
      'Instance',
      volumes.flatMap(({ attachments = [] }) => attachments.map(({ claim }) => claim)),
    ),
    all(
      reader,
      'Snapshot',
      volumes.flatMap((volume) => {
        const key = sourceSnapshot(volume);
        return key ? [`${key.namespace}/${key.name}`] : [];
      }),
    ),
    copiesOf(reader, volumes),
    reader.list('Node', '-'),
  ]);
  const snapshots = [...sources, ...copies];
  return { ...emptyWorld, ...classes, volumes, instances: users, snapshots, nodes };
}

/** Instances that mount a volume explain why it is not used, also without an attachment, such as between two attempts. */
async function withUsers(reader: Reader, volume: Volume, world: World): Promise<World> {
  const everywhere = await reader.list('Instance', '-');
  // A caller without rights to all namespaces may have those to this one.
  const all = everywhere.length > 0 ? everywhere : await reader.list('Instance', volume.namespace);
  const key = keyString(volume);
  const users = all.filter((instance) => mountedVolumes(instance).includes(key));
  const known = new Set(users.map(({ metadata }) => metadata.uid));
  const others = world.instances.filter(({ metadata }) => !known.has(metadata.uid));
  return { ...world, instances: [...users, ...others] };
}

/** Snapshots explain a volume that is lost or waits for their deletion. */
async function copiesOf(reader: Reader, volumes: readonly Volume[]): Promise<readonly Snapshot[]> {
  const concerned = volumes.filter((volume) => isDeleting(volume) || volume.status === 'Failed');
  const namespaces = new Set(concerned.map(({ namespace }) => namespace));
  return (await Promise.all([...namespaces].map((ns) => reader.list('Snapshot', ns)))).flat();
}

/**
 * The dependencies of instances: their volumes with their dependencies. If a volume is missing, also the other volumes
 * of its namespace and all classes.
 */
async function aroundInstances(reader: Reader, own: readonly Instance[]): Promise<World> {
  const keys = own.flatMap(mountedVolumes);
  const found = await all(reader, 'Volume', keys);
  // The other volumes of the namespace are candidates for the name of a missing one.
  const missing = keys.filter((key) => !found.some((v) => `${v.namespace}/${v.name}` === key));
  const namespaces = new Set(missing.map((key) => key.split('/')[0] ?? ''));
  const beside = (await Promise.all([...namespaces].map((ns) => reader.list('Volume', ns)))).flat();
  const volumes = [
    ...found,
    ...beside.filter(({ metadata }) => !found.some((v) => v.metadata.uid === metadata.uid)),
  ];
  const world = await aroundVolumes(reader, volumes);
  const classes = missing.length > 0 ? await reader.list('StorageClass', '-') : [];
  const storageClasses = [...world.storageClasses, ...classes];
  return { ...world, storageClasses, instances: [...own, ...world.instances] };
}

/** The objects that explanations of an object may refer to. */
export async function gather(reader: Reader, subject: Subject): Promise<World> {
  const world = await objectsAround(reader, subject);
  const absentNamespaces = await absentNamespacesOf(reader, subject, world);
  return { ...world, absentNamespaces, credentials: reader.credentials };
}

/** The namespaces that do not exist of secrets that parameters refer to, and of volumes that an instance claims. */
async function absentNamespacesOf(
  reader: Reader,
  subject: Subject,
  { storageClasses, volumes, snapshots, instances }: World,
): Promise<readonly string[]> {
  const copies = subject.kind === 'Snapshot' ? [subject.object, ...snapshots] : snapshots;
  const given = [
    ...storageClasses.map(({ parameters }) => parameters),
    ...volumes.flatMap(({ parameters, driverParameters }) => [parameters, driverParameters]),
    ...copies.map(({ driverParameters }) => driverParameters),
  ];
  const keys = [
    // The short form has the namespace of its object.
    ...given.flatMap((parameters) => referencedSecrets(parameters, '')),
    ...instances.flatMap(mountedVolumes),
  ];
  const existing = [...volumes, ...copies, ...instances].map(({ namespace }) => namespace);
  const others = [...new Set(keys.map((key) => key.split('/')[0] ?? ''))].filter(
    (name) => name !== '' && !existing.includes(name),
  );
  const found = await Promise.all(others.map((name) => reader.get('Namespace', name)));
  return others.filter((_, index) => found[index] === 'NotFound');
}

async function objectsAround(reader: Reader, subject: Subject): Promise<World> {
  switch (subject.kind) {
    case 'Service': {
      const { namespace, name } = subject.object;
      const instances = await reader.list('Instance', namespace);
      const own = instances.filter(({ service }) => service === name);
      return { ...(await aroundInstances(reader, own)), services: [subject.object] };
    }
    case 'Instance':
      return aroundInstances(reader, [subject.object]);
    case 'Volume': {
      const world = await aroundVolumes(reader, [subject.object]);
      return problemOfStorage(subject.object) ? world : withUsers(reader, subject.object, world);
    }
    case 'Snapshot': {
      const { namespace, source, storageClassName = '' } = subject.object;
      const volumes = await reader.list('Volume', '-');
      const world = await aroundVolumes(
        reader,
        volumes.filter((v) => v.namespace === namespace && v.name === source.volume),
      );
      const classes = await classesOf(reader, [storageClassName]);
      return {
        ...{ ...world, volumes },
        storageClasses: [...world.storageClasses, ...classes.storageClasses],
        absentClasses: [...(world.absentClasses ?? []), ...(classes.absentClasses ?? [])],
      };
    }
    case 'Node':
      return { ...emptyWorld, nodes: [subject.object] };
    case 'Namespace':
      return worldOfNamespace(reader, subject.object.name);
  }
}
