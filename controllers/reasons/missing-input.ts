import { inputMessages } from '../messages/inputs.js';

/** A secret or configmap that a message reports as missing, or as lacking a key or a usable value of it. */
interface MissingInput {
  readonly kind: 'secret' | 'configmap';
  readonly namespace: string;
  readonly name: string;
  /** Absent: the whole object is missing. */
  readonly key?: string;
}

/**
 * The secret or configmap that a message reports as missing, or as lacking a key or a usable value of it; undefined for
 * other messages.
 */
export function missingInput(message: string): MissingInput | undefined {
  for (const kind of ['secret', 'configmap'] as const) {
    const { missing, keyMissing, keyUnfit } = inputMessages[kind];
    const empty = kind === 'secret' ? inputMessages.secret.keyEmpty.read(message) : undefined;
    const lacking = keyMissing.read(message) ?? keyUnfit.read(message) ?? empty;
    const object = lacking?.object ?? missing.read(message)?.object;
    if (object === undefined) continue;
    const [namespace = '', name = ''] = object.split('/');
    return { kind, namespace, name, ...(lacking && { key: lacking.key }) };
  }
  return undefined;
}
