import type { ApiObject } from 'kedge';
import { type Instance, instances } from '../instance/kind.js';
import { services } from '../service/kind.js';
import { type Secret, secrets } from './kind.js';
import { placeOf } from './admission.js';
import { type Holder, holderOf, isSealed, type Place, unboundPlace } from './sealer.js';

/** A sealed text and its binding. */
export interface SealedValue {
  readonly sealed: string;
  readonly place: Place;
}

/** Returns a function that finds the binding of a sealed text in the object by the key of the text. */
export function placesIn(kind: string, object: ApiObject): (key: string) => Place {
  if (kind === secrets.kind) return (key) => placeOf(object as Secret, key);
  const holder = holderIn(kind, object);
  return (key) => (key === handleKey ? unboundPlace(key) : { holder, key });
}

/** Key of a handle, which is not a parameter: it is opened without its object. */
const handleKey = 'handle';

/** The values of an instance's template are bound to its service. */
function holderIn(kind: string, object: ApiObject): Holder {
  if (kind !== instances.kind) return holderOf({ kind }, object);
  const { namespace, service } = object as Instance;
  return holderOf(services, { namespace, name: service });
}

/** Every sealed text in an object, at any depth. */
export function sealedValuesIn(kind: string, object: ApiObject): readonly SealedValue[] {
  const placeOfKey = placesIn(kind, object);
  const found: SealedValue[] = [];
  const walk = (value: unknown, key: string): void => {
    if (typeof value === 'string') {
      if (isSealed(value)) found.push({ sealed: value, place: placeOfKey(key) });
    } else if (Array.isArray(value)) {
      for (const item of value as readonly unknown[]) walk(item, key);
    } else if (typeof value === 'object' && value !== null) {
      for (const [name, inner] of Object.entries(value)) walk(inner, name);
    }
  };
  walk(object, '');
  return found;
}
