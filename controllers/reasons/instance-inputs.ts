import { memoryFull, subPathRefused } from '../messages/inputs.js';
import { castOf, command, creationIn, patchOf, serviceOf } from './commands.js';
import { shellWord } from '../messages/shell-word.js';
import { missingInput } from './missing-input.js';
import { type Remedy, run, set, wait } from './remedy.js';
import { missingSecret, wrongParameters } from './driver-parameters.js';
import { storageOf } from './storage-subject.js';
import type { About, World } from './world.js';

/** The remedy for a secret or configmap of a workload or of its volume that is missing or lacks a key. */
export function inputsOfInstance(about: About<'Instance'>): Remedy {
  const { message, object } = about;
  const service = { namespace: object.namespace, name: object.service };
  const storage = storageOf(about);
  const ofVolume = storage && missingSecret(about, storage);
  if (ofVolume) return ofVolume;
  const reported = missingInput(message);
  if (reported) {
    const { kind, namespace, name, key } = reported;
    const holder = `${kind} ${namespace}/${name}`;
    if (key !== undefined)
      return set(
        `data.${key} of ${holder}`,
        'the value for the workload',
        patchOf(kind, { namespace, name }, { data: { [key]: 'VALUE' } }),
      );
    const keys = wantedKeys(about, kind, name);
    const literals = keys.map((wanted) => ` --from-literal ${shellWord(wanted)}=VALUE`).join('');
    return run(
      `kedge create ${kind} ${shellWord(name)} -n ${shellWord(namespace)}${literals}`,
      `create ${holder} with the values for the workload: the instance gets them automatically`,
    );
  }
  const subPath = subPathRefused.read(message)?.subPath;
  if (subPath !== undefined)
    return set(
      `volumes[].subPath of service ${service.namespace}/${service.name}, now "${subPath}",`,
      'an existing directory of the volume',
      command('edit', 'service', service),
    );
  if (storage) return wrongParameters(about);
  return set(
    `secretMounts and configmapMounts of service ${service.namespace}/${service.name}`,
    'valid values',
    command('edit', 'service', service),
  );
}

/** The keys that the mounts of an instance name; an example if they name none. */
function wantedKeys({ object }: About<'Instance'>, kind: string, name: string): readonly string[] {
  const { secretMounts = [], configmapMounts = [] } = object.template;
  const mounts = kind === 'secret' ? secretMounts : configmapMounts;
  const keys = mounts
    .filter((mount) => mount.name === name)
    .flatMap(({ items = [] }) => items.map(({ key }) => key));
  return keys.length > 0 ? [...new Set(keys)] : ['KEY'];
}

/** The remedy if the secrets or configmaps of a workload could not be written. */
export function inputsFailed(about: About<'Instance'>): Remedy {
  if (missingInput(about.message)) return inputsOfInstance(about);
  const { object } = about;
  const full = memoryFull.read(about.message);
  if (full)
    return run(
      `mount -o remount,size=SIZE ${shellWord(full.path)}`,
      `the file system in memory of node ${object.node ?? ''} with the files of secrets and configmaps is full: enlarge it there, or remove what else is in it; the write is retried automatically`,
    );
  return wait(
    'the node to write them (free disk space on the node)',
    'on the next retry',
    command(
      'scale',
      'service',
      { namespace: object.namespace, name: object.service },
      '--replicas 0',
    ),
    'to stop it',
  );
}

/** The storage class line of a new volume if no class is the default. */
function classLine({ storageClasses }: World): readonly string[] {
  const [first] = storageClasses;
  const known = storageClasses.find(({ name }) => name === 'local') ?? first;
  return known ? [`storageClassName: ${known.name}`] : [];
}

/** The remedy for an instance that claims a volume which does not exist. */
export function missingVolume({ object, world }: About<'Instance'>, key: string): Remedy {
  const [namespace = '', name = ''] = key.split('/');
  const created = (...lines: readonly string[]): string => {
    const head = ['kind: Volume', `name: ${name}`, `namespace: ${namespace}`];
    return creationIn(namespace, world, castOf([...head, ...lines]));
  };
  const others = world.volumes.filter((other) => other.namespace === namespace);
  const known = others.map((other) => other.name).join(', ');
  const more =
    known === ''
      ? ''
      : ` (volumes of namespace ${namespace}: ${known}; to claim another one: ${command('edit', 'service', serviceOf(object))})`;
  const label = `volume ${namespace}/${name}`;
  if (object.template.runtime === 'process')
    return set(
      `parameters.hostPath of a new ${label}`,
      'a directory of the node that [storage].hostPathAllowlist permits',
      created(
        'storageClassName: local-host',
        'size: 1Gi',
        'accessMode: ReadWriteOnce',
        'parameters: {hostPath: VALUE, createIfMissing: "true"}',
      ),
      `the instance then starts automatically${more}`,
    );
  return run(
    created(...classLine(world), 'size: 1Gi', 'accessMode: ReadWriteOnce'),
    `create ${label}, and the instance starts automatically${more}`,
  );
}
