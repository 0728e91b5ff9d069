import { type FieldViolation, invalid, jsonEqual } from 'kedge';
import type { AdmissionRules } from 'kedge/server';
import type { CredentialsByDriver } from '@kedge/driver-sdk/parameters';
import { dataViolations } from './data-map.js';
import { type Secret, secrets } from './kind.js';
import { neededByDeletions } from './deletion-need.js';
import { isSealed, mask, maskViolation, type Sealer } from './sealer.js';

/** The location of a secret value, which is its associated data. */
export function placeOf(
  secret: Pick<Secret, 'namespace' | 'name' | 'version'>,
  key: string,
): string {
  return `secret/${secret.namespace}/${secret.name}/${secret.version ?? 1}/${key}`;
}

/** The values of a stored secret in plaintext. @throws StatusError Internal if a value can't be opened */
export function openSecret(sealer: Sealer, secret: Secret): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(secret.data ?? {}).map(([key, sealed]) => [
      key,
      sealer.open(sealed, placeOf(secret, key)),
    ]),
  );
}

/** The readable values of a stored secret. Values whose key is lost are omitted. */
function readable(sealer: Sealer, secret: Secret | undefined): Readonly<Record<string, string>> {
  const opened: Record<string, string> = {};
  for (const [key, sealed] of Object.entries(secret?.data ?? {})) {
    const value = secret && sealer.openIfPossible(sealed, placeOf(secret, key));
    if (value !== undefined) opened[key] = value;
  }
  return opened;
}

function lostViolation(key: string): FieldViolation {
  const description =
    "can't be kept beside changed values, because the stored value can't be opened; set the value, omit the key, or set [secrets].kekFile to the key that it was sealed with";
  return { field: `data.${key}`, description };
}

function sealedViolations(data: Readonly<Record<string, string>>): readonly FieldViolation[] {
  return Object.entries(data)
    .filter(([, value]) => isSealed(value))
    .map(([key]) => ({
      field: `data.${key}`,
      description: 'starts like a sealed value; set the plain value',
    }));
}

/**
 * Rules of secrets: values are sealed before they reach the store, and masked in answers unless the caller asks for
 * them and may see them.
 * @param credentials those of drivers, which decide if a deletion needs a secret
 */
export function secretRules(
  sealer: Sealer,
  credentials: CredentialsByDriver,
): AdmissionRules<Secret> {
  return {
    async prepare(context, object, before) {
      const given = object.data ?? {};
      const violations = [...dataViolations(given), ...sealedViolations(given)];
      if (violations.length > 0) throw invalid(violations);
      const sealedBefore = before?.data ?? {};
      const sameKeys = jsonEqual(Object.keys(given).sort(), Object.keys(sealedBefore).sort());
      const masked = Object.values(given).every((value) => value === mask);
      const kept = { ...object, data: sealedBefore, version: before?.version ?? 1 };
      // Opens nothing: a write that keeps all values also keeps those whose key is lost.
      if (before && sameKeys && masked) return kept;
      const masks = Object.keys(given).filter(
        (key) => given[key] === mask && !Object.hasOwn(sealedBefore, key),
      );
      if (masks.length > 0) throw invalid(masks.map((key) => maskViolation(`data.${key}`)));
      const stored = readable(sealer, before);
      const lost = Object.keys(given).filter(
        (key) => given[key] === mask && !Object.hasOwn(stored, key),
      );
      if (lost.length > 0) throw invalid(lost.map(lostViolation));
      const data = Object.fromEntries(
        Object.entries(given).map(([key, value]) => [
          key,
          value === mask ? (stored[key] ?? value) : value,
        ]),
      );
      // Unchanged values keep their ciphertext, so that writing them again changes nothing. Only users that may
      // read a value may learn whether it equals the stored one.
      if (before && sameKeys && jsonEqual(data, stored) && (await context.reveals(secrets, before)))
        return kept;
      const version = (before?.version ?? 0) + 1;
      const place = { namespace: object.namespace, name: object.name, version };
      const sealed = Object.fromEntries(
        Object.entries(data).map(([key, value]) => [key, sealer.seal(value, placeOf(place, key))]),
      );
      return { ...object, data: sealed, version };
    },
    neededWhileTerminating: (context, secret) => neededByDeletions(context, secret, credentials),
    present(secret, reveal) {
      const data = reveal
        ? openSecret(sealer, secret)
        : Object.fromEntries(Object.keys(secret.data ?? {}).map((key) => [key, mask]));
      return { ...secret, data };
    },
  };
}
