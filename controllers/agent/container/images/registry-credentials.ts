import { type Lister, messageOf } from 'kedge';
import { registryAuthSensitive } from '@kedge/api/kinds';
import { registries, type Registry, type RegistryAuth } from '../../../registry/kind.js';
import { holderOf, type ParameterResolver } from '../../../secret/index.js';
import type { ImageReference } from '../../../service/image/image-reference.js';
import type { RegistryCredentials } from '../engine/registry-auth.js';
import { dockerConfigCredentials } from './docker-config.js';
import { mostSpecific } from './registry-match.js';

/** The registry object of an image, and the credentials that it has for the image. */
export interface FoundCredentials {
  /** Name of the object. */
  readonly registry: string;
  readonly credentials: RegistryCredentials | undefined;
}

/** Finds the credentials for an image. It is called for each pull; undefined if no registry object matches. */
export type CredentialsOf = (image: ImageReference) => FoundCredentials | undefined;

/** Sources of {@link registryCredentials}. */
export interface CredentialSources {
  readonly registries: Lister<Registry>;
  readonly resolver: Pick<ParameterResolver, 'resolve'>;
}

/**
 * Returns a function that finds credentials in the most specific registry object: a host takes precedence over a
 * wildcard, then a longer path over a shorter one. An object without auth also matches: the image is then pulled
 * without credentials. The function throws an Error that names the registry and the missing part of its credentials.
 */
export function registryCredentials({
  registries: lister,
  resolver,
}: CredentialSources): CredentialsOf {
  return (image) => {
    const byName = [...lister.list()].sort((a, b) => (a.name < b.name ? -1 : 1));
    const found = mostSpecific(byName, ({ registry }) => registry, image);
    if (!found) return undefined;
    const { name, auth } = found;
    if (!auth) return { registry: name, credentials: undefined };
    try {
      const given = Object.fromEntries(
        registryAuthSensitive.flatMap((key) => (auth[key] ? [[key, auth[key]] as const] : [])),
      );
      const opened = resolver.resolve(given, holderOf(registries, found));
      return { registry: name, credentials: credentialsOf({ ...auth, ...opened }, image) };
    } catch (cause) {
      throw new Error(`registry ${name} has no credentials: ${messageOf(cause)}`, { cause });
    }
  };
}

function credentialsOf(auth: RegistryAuth, image: ImageReference): RegistryCredentials | undefined {
  const serverAddress = image.host;
  switch (auth.type) {
    case 'basic':
      return { username: auth.username ?? '', password: auth.password ?? '', serverAddress };
    case 'token':
      return { registryToken: auth.token ?? '', serverAddress };
    case 'dockerconfigjson':
      return dockerConfigCredentials(auth.dockerConfigJson ?? '', image);
  }
}
