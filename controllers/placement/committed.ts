import { type Lister, type ObjectStore, parseKey, type Transaction } from 'kedge';
import { type Instance, instances } from '../instance/kind.js';
import type { Node } from '../node/kind.js';
import { mountedVolumes } from '../references/claim.js';
import { type Volume, volumes } from '../volume/kind.js';
import { isNominated, type NominationSources, occupantsOf } from './nominations.js';

/**
 * The instances that another instance counts as using a node, as of the commit: a cache may lack what was written just
 * now. The commit fails if an instance is placed on the node or nominated for it meanwhile.
 */
export async function takingFrom(
  txn: Transaction,
  store: Pick<ObjectStore, 'get'>,
  node: Node,
  instance: Instance,
  sources: NominationSources,
): Promise<readonly Instance[]> {
  const selection = { index: 'takesFrom', value: node.name, watching: 'generation' } as const;
  const taking = await txn.list(instances, selection);
  // A nomination is written together with the place of a volume, which the cache may not have yet.
  const doubtful = taking.filter(
    (each) => each.node === undefined && !isNominated(each, node, sources),
  );
  const read = new Map<string, Volume | undefined>();
  for (const key of new Set(doubtful.flatMap(mountedVolumes)))
    read.set(key, await store.get(volumes, parseKey(key)));
  const known: Pick<Lister<Volume>, 'get'> = {
    get: (key) => (read.has(key) ? read.get(key) : sources.volumes.get(key)),
  };
  return occupantsOf(node, taking, instance, { ...sources, volumes: known });
}
