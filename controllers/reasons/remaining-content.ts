import { command, deletionOf } from './commands.js';
import { type Remedy, run, wait } from './remedy.js';
import { again, inUse } from './storage-subject.js';
import { type About, findByKey } from './world.js';

/** The remedy for a namespace whose deletion is blocked: that of the first object that its condition names. */
export function remainingContent(about: About): Remedy {
  const { message, world, object } = about;
  const [, key = ''] = /volume "([-a-z0-9]+\/[-a-z0-9]+)"/.exec(message) ?? [];
  const volume = findByKey(world.volumes, key);
  if (volume) return inUse({ kind: 'Volume', object: volume, message, world });
  const [, type, name] = /(Service|Instance|Volume|Snapshot) "([-a-z0-9]+)"/.exec(message) ?? [];
  if (!type || !name)
    return wait(
      'its objects',
      'once they are deleted',
      deletionOf(about),
      'to request the deletion again',
    );
  const named = { namespace: object.name, name };
  return wait(
    `${type} ${object.name}/${name}`,
    'once it is deleted',
    command('delete', type.toLowerCase(), named),
    'to request its deletion',
  );
}

/** The remedy for a namespace whose objects are being deleted. */
export function finalizing(about: About): Remedy {
  const { message, object, world } = about;
  const [, name] = /Volume "([-a-z0-9]+)"/.exec(message) ?? [];
  const volume = findByKey(world.volumes, `${object.name}/${name ?? ''}`);
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
