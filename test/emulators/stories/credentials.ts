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
  /** The parameters of a class that name the place of its volumes. */
  readonly place: Readonly<Record<string, string>>;
  /** Those of its credential, which is in a secret. */
  readonly parameters: (reference: string) => Readonly<Record<string, string>>;
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
  switch (provider) {
    case 'cloud1':
    case 'cloud2':
      return {
        tokens: named.map(([name, secret]) => tokenOf(provider, name, secret)),
        values: secrets,
        place: { region: place },
        parameters: (apiToken) => ({ apiToken }),
        labels: (at) => ({ 'svc.io/region': at }),
      };
    case 'cloud3':
      return {
        tokens: named.map(([name, secret]) => ({
          ...{ name, secret, keyId: keyIdOf(name), scopes: keyPermissions },
        })),
        values: secrets,
        // The classes of stories have the first key.
        parameters: (secretAccessKey) => ({
          ...{ accessKeyId: keyIdOf(named[0]?.[0] ?? ''), secretAccessKey },
        }),
        place: { region: regionOf(place), availabilityZone: place },
        labels: (at) => ({ 'svc.io/region': regionOf(at), 'svc.io/zone': at }),
      };
    case 'cloud4': {
      const accounts = named.map(([name]) => ({
        name,
        made: makeServiceAccount(`sa-${name}`, { permissions: specifiedPermissions }),
      }));
      const values = accounts.map(({ name, made }) => [name, made.credentialsJSON]);
      return {
        tokens: accounts.map(({ made }) => made.token),
        values: Object.fromEntries(values) as Record<Name, string>,
        parameters: (credentialsJSON) => ({ credentialsJSON }),
        place: { zone: place, project: 'emulated-project' },
        labels: (at) => ({ 'svc.io/zone': at }),
      };
    }
  }
}
