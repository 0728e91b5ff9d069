import type { ImageReference } from '../../../service/image/image-reference.js';
import type { FoundCredentials } from './registry-credentials.js';

/**
 * The remedy of a failed pull, from the engine's message; empty if none is known.
 * @param isPinned whether the content of earlier runs is pulled, and not what the service names
 */
export function pullRemedy(
  message: string,
  { host }: ImageReference,
  found: FoundCredentials | undefined,
  isPinned = false,
): string {
  if (/manifest unknown|manifest for .* not found/.test(message))
    return isPinned
      ? `registry ${host} no longer has this content, which other runs of the service have; change image of the service, or use imagePull always for the present content of its tag`
      : `registry ${host} does not have this image or tag; correct image of the service`;
  if (
    /no basic auth credentials|unauthorized|authentication required|access denied|denied:|incorrect username or password|status: 40[13]/i.test(
      message,
    )
  )
    // Registries do not reveal whether a repository exists to those who may not read it.
    return /repository does not exist/.test(message)
      ? `either the repository does not exist (correct image of the service), or ${loginRemedy(host, found)}`
      : loginRemedy(host, found);
  if (/server gave HTTP response to HTTPS client/.test(message))
    return `registry ${host} does not use TLS; configure a certificate for it, or add it to insecure-registries in the engine's daemon.json`;
  if (/x509:|certificate/.test(message))
    return `the engine does not trust the certificate of ${host}; copy its certificate authority to /etc/docker/certs.d/${host}/ca.crt on the node`;
  if (/toomanyrequests|rate limit/i.test(message)) return limitRemedy(host, found);
  if (/no such host|server misbehaving|name resolution/.test(message))
    return `the name of ${host} can't be resolved on the node; correct image of the service, or the node's resolver`;
  if (
    /connection refused|i\/o timeout|no route to host|network is unreachable|Timeout exceeded/.test(
      message,
    )
  )
    return `registry ${host} does not answer; start it, or load the image with kedge image load`;
  if (/no space left on device/.test(message))
    return 'the disk of the engine is full; free space with kedge image prune';
  return '';
}

function loginRemedy(host: string, found: FoundCredentials | undefined): string {
  if (!found) return `no Registry matches ${host}; cast a Registry with its credentials`;
  if (!found.credentials)
    return `registry ${found.registry} has no credentials for ${host}; add them: kedge edit registry/${found.registry}`;
  return `${host} rejected the credentials of registry ${found.registry}; correct them: kedge edit registry/${found.registry}`;
}

function limitRemedy(host: string, found: FoundCredentials | undefined): string {
  if (found?.credentials)
    return `${host} limits the pulls of the account in registry ${found.registry}, and the pull is retried; use an account with a higher limit: kedge edit registry/${found.registry}`;
  return found
    ? `registry ${host} limits anonymous pulls; add credentials: kedge edit registry/${found.registry}`
    : `registry ${host} limits anonymous pulls; cast a Registry with credentials for ${host}`;
}
