import type { ApiObject } from 'kedge';
import { type Secret, secrets } from '../kinds/index.js';
import { placeOf } from './admission.js';
import { isSealed, literalPlace } from './sealer.js';

/** A sealed text and what it is bound to. */
export interface SealedValue {
  readonly sealed: string;
  readonly place: string;
}

/** Associated data of the sealed texts in an object of the kind of this name, by the key they stand under. */
export function placesIn(kind: string, object: ApiObject): (key: string) => string {
  return kind === secrets.kind ? (key) => placeOf(object as Secret, key) : literalPlace;
}

/** Every sealed text in an object, wherever it stands. */
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
