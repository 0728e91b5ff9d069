import { command, patchOf } from '../commands.js';
import { type Remedy, run, set } from '../remedy.js';
import { again, type Storage, storageOf } from '../storage-subject.js';
import type { About } from '../world.js';
import type { SecretReference } from '../../references/secret-reference.js';
import { credentialSource } from './sources.js';

/** The command that changes a class. */
export function editClass(name: string): string {
  return `kedge edit storageclass/${name}`;
}

/** How the deletion of an object ends without the provider; the empty text for an object that is not being deleted. */
function endOfDeletion(storage: Storage | undefined): string {
  if (storage?.kind !== 'Volume' || !storage.object.metadata.deletionRequestedAt) return '';
  const retain = patchOf('volume', storage.object, { reclaimPolicy: 'retain' });
  return `or remove the object, and keep what may be at the provider: ${retain}`;
}

function inSecret(
  [first, ...others]: readonly [SecretReference, ...SecretReference[]],
  value: string,
  end: string,
): Remedy {
  const { namespace, name } = first;
  // An access key consists of two values, and either may be wrong.
  const same = others.filter((each) => each.namespace === namespace && each.name === name);
  const keys = new Set([first, ...same].map(({ key }) => key));
  const data = Object.fromEntries([...keys].map((key) => [key, 'VALUE']));
  const fields = [...keys].map((key) => `data.${key}`).join(' and ');
  return set(
    `${fields} of secret ${namespace}/${name}`,
    value,
    patchOf('secret', first, { data }),
    end,
  );
}

/** The remedy for a credential of a snapshot that nothing but the snapshot has: it can't be changed. */
function captured({ kind, object }: Storage, about: About, value: string): Remedy {
  if (object.metadata.deletionRequestedAt === undefined)
    return again(about, `${value} at the provider`);
  return run(
    patchOf(kind.toLowerCase(), object, { reclaimPolicy: 'retain' }),
    'its credential is that of its deleted volume: remove the object, and delete the copy at the provider',
  );
}

/** The remedy for credentials that the provider rejects. */
export function credentials(about: About, value: string): Remedy {
  const storage = storageOf(about);
  if (!storage) return again(about, `${value} at the provider`);
  const end = endOfDeletion(storage);
  const source = credentialSource(storage, about);
  switch (source.type) {
    case 'secrets': {
      const [first, ...others] = source.references;
      if (first) return inSecret([first, ...others], value, end);
      return again(about, `${value} at the provider`);
    }
    case 'volume': {
      const { volume } = source;
      const label = `parameters of volume ${volume.namespace}/${volume.name}`;
      return set(label, value, command('edit', 'volume', volume), end);
    }
    case 'captured':
      return captured(storage, about, value);
    case 'class': {
      const className = storage.object.storageClassName ?? '';
      if (className === '') return again(about, `${value} at the provider`);
      return set(`parameters of storage class ${className}`, value, editClass(className), end);
    }
  }
}
