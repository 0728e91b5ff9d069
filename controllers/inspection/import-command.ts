import type { ObjectStore } from 'kedge';
import type { ProviderResource } from '@kedge/driver-sdk';
import { namespaces } from '../namespace/kind.js';
import { volumes } from '../volume/kind.js';

const namespaceDefault = 'default';
/** Maximum length of the name of a volume. */
const nameMax = 63;
const label = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
/** The size of a volume whose driver enforces none. */
const sizeDefault = '1Gi';

/** A word of a shell command. */
function word(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/** A name for an object from the name of a resource. */
function nameFrom(text: string): string {
  const plain = text.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');
  const name = plain.slice(0, nameMax).replaceAll(/^-+|-+$/g, '');
  return name === '' ? 'imported' : name;
}

/** The key of the object that a resource was created for if it is free, else a name from that of the resource. */
async function keyFor(
  store: ObjectStore,
  { createdFor = '', name }: ProviderResource,
): Promise<{ readonly namespace: string; readonly name: string }> {
  const [namespace = '', of = ''] = createdFor.split('/');
  if (label.test(of) && label.test(namespace)) {
    const key = { namespace, name: of };
    const there = await store.get(namespaces, { name: namespace });
    if (there && !(await store.get(volumes, key))) return key;
  }
  const plain = nameFrom(name);
  for (let number = 1; ; number += 1) {
    const suffix = number === 1 ? '' : `-${number}`;
    const key = {
      namespace: namespaceDefault,
      name: `${plain.slice(0, nameMax - suffix.length)}${suffix}`,
    };
    if (!(await store.get(volumes, key))) return key;
  }
}

/** The command that brings a volume of a provider under management. */
export async function importCommand(
  store: ObjectStore,
  storageClassName: string,
  resource: ProviderResource,
  takesOver: boolean,
): Promise<string> {
  const { namespace, name } = await keyFor(store, resource);
  return [
    `kedge volume import ${name}`,
    ...(namespace === namespaceDefault ? [] : [`-n ${namespace}`]),
    `--class ${storageClassName} --handle ${word(resource.handle)}`,
    ...(resource.sizeBytes === undefined ? [`--size ${sizeDefault}`] : []),
    ...(takesOver ? ['--take-over'] : []),
  ].join(' ');
}
