import { isJsonObject, type JsonObject, textOf } from 'kedge/rpc';
import type { ImageReference } from '../../../service/image/image-reference.js';
import type { RegistryCredentials } from '../engine/registry-auth.js';
import { mostSpecific } from './registry-match.js';

/**
 * The credentials for an image in a `config.json` of Docker; undefined without credentials for the image.
 * @throws Error for another format, without the text, which is confidential
 */
export function dockerConfigCredentials(
  text: string,
  image: ImageReference,
): RegistryCredentials | undefined {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    throw new Error('dockerConfigJson is not JSON; use the file that docker login writes');
  }
  const auths = isJsonObject(parsed) ? parsed['auths'] : undefined;
  if (!isJsonObject(auths))
    throw new Error('dockerConfigJson has no auths; use the file that docker login writes');
  const entries = Object.entries(auths).filter((entry): entry is [string, JsonObject] =>
    isJsonObject(entry[1]),
  );
  const found = mostSpecific(entries, ([registry]) => registry, image);
  return found && credentialsIn(found[1], image.host);
}

function credentialsIn(entry: JsonObject, serverAddress: string): RegistryCredentials | undefined {
  const identityToken = textOf(entry, 'identitytoken');
  if (identityToken !== '') return { identityToken, serverAddress };
  const registryToken = textOf(entry, 'registrytoken');
  if (registryToken !== '') return { registryToken, serverAddress };
  const plain = Buffer.from(textOf(entry, 'auth'), 'base64').toString();
  const colon = plain.indexOf(':');
  const username = textOf(entry, 'username') || plain.slice(0, Math.max(0, colon));
  const password = textOf(entry, 'password') || plain.slice(colon + 1);
  return username === '' ? undefined : { username, password, serverAddress };
}
