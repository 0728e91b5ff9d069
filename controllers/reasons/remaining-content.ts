import { objectRemains } from '../messages/namespaces.js';
import { quotedVolume } from '../messages/storage.js';
import { command, deletionOf } from './commands.js';
import { type Remedy, run, wait } from './remedy.js';
import { again, inUse } from './storage-subject.js';
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

/** The remedy for a namespace whose objects are being deleted. */
export function finalizing(about: About): Remedy {
  const { message, object, world } = about;
  const name = objectRemains.readAll(message).find(({ kind }) => kind === 'Volume')?.name ?? '';
  const volume = findByKey(world.volumes, `${object.name}/${name}`);
  if (volume && volume.attachments?.length)
    return inUse({ kind: 'Volume', object: volume, message, world });
  if (volume?.dataDeletion?.askedAt)
    return again({ kind: 'Volume', object: volume, message, world }, 'its driver');
  if (volume)
    return run(
      command('patch', 'volume', volume, `--patch '{"reclaimPolicy":"retain"}'`),
      `the deletion of the namespace continues once volume ${object.name}/${name} is deleted; to remove the volume and keep its data`,
    );
  return remainingContent(about);
}
