import type { Token } from '../core/machine.js';
import { specifiedPermissions as keyPermissions } from '../cloud3/machine.js';
import { makeServiceAccount, specifiedPermissions } from '../cloud4/service-account.js';
import { tokenOf } from '../drivers/served-cloud.js';
import type { ProviderName } from '../index.js';
import { places } from '../sweep/emulated-cloud.js';

/** The credentials of a provider in a story, by the names of the tokens in its log. */
export interface Credentials<Name extends string> {
  /** For the emulator. */
  readonly tokens: readonly Token[];
  /** The values of secrets. */
  readonly values: Readonly<Record<Name, string>>;
  /** The names of the tokens in the provider's log. */
  readonly logged: Readonly<Record<Name, string>>;
  /** The data of a secret with a value. */
  readonly data: (value: string) => Readonly<Record<string, string>>;
  /** The parameters of a class that name the place of its volumes. */
  readonly place: Readonly<Record<string, string>>;
  /** Those of its credential, which is in a secret. */
  readonly parameters: (reference: string) => Readonly<Record<string, string>>;
  /** The same parameters with their values. */
  readonly literals: (name: Name) => Readonly<Record<string, string>>;
  /** The labels of a node in a place. */
  readonly labels: (place: string) => Readonly<Record<string, string>>;
}

const keyIdOf = (name: string): string => `AKIA${name.toUpperCase()}`;

const regionOf = (zone: string): string => zone.replace(/[a-z]$/, '');

/** Returns the credentials of a provider with the secrets of a story. Those of cloud4 are new keys. */
export function credentialsOf<Name extends string>(
  provider: ProviderName,
  secrets: Readonly<Record<Name, string>>,
): Credentials<Name> {
  const place = places[provider];
  const named = Object.entries<string>(secrets);
  const same = Object.fromEntries(named.map(([name]) => [name, name])) as Record<Name, string>;
  switch (provider) {
    case 'cloud1':
    case 'cloud2':
      return {
        tokens: named.map(([name, secret]) => tokenOf(provider, name, secret)),
        values: secrets,
        logged: same,
        data: (token) => ({ token }),
        place: { region: place },
        parameters: (apiToken) => ({ apiToken }),
        literals: (name) => ({ apiToken: secrets[name] }),
        labels: (at) => ({ 'svc.io/region': at }),
      };
    case 'cloud3':
      return {
        tokens: named.map(([name, secret]) => ({
          ...{ name, secret, keyId: keyIdOf(name), scopes: keyPermissions },
        })),
        values: secrets,
        logged: same,
        // A secret has the id of its key, too.
        data: (token) => ({
          ...{ token, id: keyIdOf(named.find(([, secret]) => secret === token)?.[0] ?? 'none') },
        }),
        parameters: (secretAccessKey) => ({
          ...{ accessKeyId: secretAccessKey.replace(/token$/, 'id'), secretAccessKey },
        }),
        literals: (name) => ({ accessKeyId: keyIdOf(name), secretAccessKey: secrets[name] }),
        place: { region: regionOf(place), availabilityZone: place },
        labels: (at) => ({ 'svc.io/region': regionOf(at), 'svc.io/zone': at }),
      };
    case 'cloud4': {
      const accounts = named.map(([name]) => ({
        name,
        made: makeServiceAccount(`sa-${name}`, { permissions: specifiedPermissions }),
      }));
      const pairs = accounts.map(({ name, made }) => [name, made.credentialsJSON]);
      const values = Object.fromEntries(pairs) as Record<Name, string>;
      return {
        tokens: accounts.map(({ made }) => made.token),
        values,
        literals: (name) => ({ credentialsJSON: values[name] }),
        logged: Object.fromEntries(
          accounts.map(({ name, made }) => [name, made.token.name]),
        ) as Record<Name, string>,
        data: (token) => ({ token }),
        parameters: (credentialsJSON) => ({ credentialsJSON }),
        place: { zone: place, project: 'emulated-project' },
        labels: (at) => ({ 'svc.io/zone': at }),
      };
    }
  }
}
