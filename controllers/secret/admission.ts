import { type FieldViolation, invalid, jsonEqual } from 'kedge';
import type { AdmissionRules } from 'kedge/server';
import type { Secret } from '../kinds/index.js';
import { isSealed, mask, type Sealer } from './sealer.js';

/** Limits of design.md section 7. */
const objectBytesMax = 1_048_576;
const keyCharactersMax = 253;

/** Where a value of a secret is stored; its associated data. */
export function placeOf(
  secret: Pick<Secret, 'namespace' | 'name' | 'version'>,
  key: string,
): string {
  return `secret/${secret.namespace}/${secret.name}/${secret.version ?? 1}/${key}`;
}

/** The values of a stored secret in plaintext. */
export function openSecret(sealer: Sealer, secret: Secret): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(secret.data ?? {}).map(([key, sealed]) => [
      key,
      sealer.open(sealed, placeOf(secret, key)),
    ]),
  );
}

function shapeViolations(data: Readonly<Record<string, string>>): readonly FieldViolation[] {
  const violations: FieldViolation[] = [];
  let bytes = 0;
  for (const [key, value] of Object.entries(data)) {
    bytes += Buffer.byteLength(key) + Buffer.byteLength(value);
    if (!/^[-._a-zA-Z0-9]+$/.test(key) || key.length > keyCharactersMax)
      violations.push({
        field: `data.${key.slice(0, 64)}`,
        description: `a key has 1 to ${keyCharactersMax} characters of a-z, A-Z, 0-9, ".", "-" and "_"`,
      });
    if (isSealed(value))
      violations.push({
        field: `data.${key}`,
        description: 'begins like a sealed value; give the plain one',
      });
  }
  if (bytes > objectBytesMax)
    violations.push({
      field: 'data',
      description: `is ${bytes} bytes, at most ${objectBytesMax} are allowed; split it`,
    });
  return violations;
}

/** Rules of secrets: values are sealed before they reach the store, and masked in every answer. */
export function secretRules(sealer: Sealer): AdmissionRules<Secret> {
  return {
    prepare(_context, object, before) {
      const given = object.data ?? {};
      const violations = shapeViolations(given);
      if (violations.length > 0) throw invalid(violations);
      const stored = before ? openSecret(sealer, before) : {};
      const data = Object.fromEntries(
        Object.entries(given).map(([key, value]) => [
          key,
          value === mask ? (stored[key] ?? value) : value,
        ]),
      );
      // Unchanged values keep their ciphertext, so that writing the same again changes nothing.
      if (before && jsonEqual(data, stored))
        return Promise.resolve({
          ...object,
          data: before.data ?? {},
          version: before.version ?? 1,
        });
      const version = (before?.version ?? 0) + 1;
      const place = { namespace: object.namespace, name: object.name, version };
      const sealed = Object.fromEntries(
        Object.entries(data).map(([key, value]) => [key, sealer.seal(value, placeOf(place, key))]),
      );
      return Promise.resolve({ ...object, data: sealed, version });
    },
    present(secret, reveal) {
      const data = reveal
        ? openSecret(sealer, secret)
        : Object.fromEntries(Object.keys(secret.data ?? {}).map((key) => [key, mask]));
      return { ...secret, data };
    },
  };
}
