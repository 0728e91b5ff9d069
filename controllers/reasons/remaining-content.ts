import { objectRemains } from '../messages/namespaces.js';
import { quotedVolume } from '../messages/storage.js';
import { command, deletionOf } from './commands.js';
import { type Remedy, wait } from './remedy.js';
import { inUse } from './storage-subject.js';
import { type About, findByKey } from './world.js';

/** Kinds whose objects a user can delete. */
const kinds: readonly string[] = ['Service', 'Instance', 'Volume', 'Snapshot'];

/** The remedy for a namespace whose deletion is blocked: that of the first object that its condition names. */
export function remainingContent(about: About): Remedy {
  const { message, world, object } = about;
  const volume = findByKey(world.volumes, quotedVolume.read(message)?.volume ?? '');
  if (volume) return inUse({ kind: 'Volume', object: volume, message, world });
  const remaining = objectRemains.readAll(message).find(({ kind }) => kinds.includes(kind));
  if (!remaining)
    return wait(
      'its objects',
      'once they are deleted',
      deletionOf(about),
      'to request the deletion again',
    );
  const { kind, name } = remaining;
  const named = { namespace: object.name, name };
  return wait(
    `${kind} ${object.name}/${name}`,
    'once it is deleted',
    command('delete', kind.toLowerCase(), named),
    'to request its deletion',
  );
}
