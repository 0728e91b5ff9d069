import type { ImageReference } from '../../../service/image/image-reference.js';

/** Host of Docker Hub in image names, and the other names that it has in files of Docker. */
const hubHost = 'docker.io';
const hubAliases = ['index.docker.io', 'registry-1.docker.io', 'registry.hub.docker.com'];

/** Path of a repository inside its registry. */
function pathOf({ repository, host }: ImageReference): string {
  if (host !== hubHost) return repository.slice(host.length + 1);
  const path = repository.startsWith(`${hubHost}/`)
    ? repository.slice(hubHost.length + 1)
    : repository;
  // Official images of Docker Hub are in a folder of its registry.
  return path.includes('/') ? path : `library/${path}`;
}

/** Host and path of a registry in common notations, such as `https://index.docker.io/v1/`. */
function normalized(registry: string): { readonly host: string; readonly path: string } {
  const bare = registry.replace(/^https?:\/\//, '').replace(/\/+$/, '');
  const [first = '', ...rest] = bare.split('/');
  // A path such as /v1 belongs to the API, not to repositories.
  const path = rest.join('/').replace(/^v[12](?:\/|$)/, '');
  const host = first.toLowerCase();
  return { host: hubAliases.includes(host) ? hubHost : host, path };
}

/**
 * The specificity of a registry for an image: a host exceeds a wildcard, then a longer path a shorter one, then a
 * longer wildcard a shorter one. Undefined if the registry does not match the image.
 */
function specificity(registry: string, image: ImageReference): number | undefined {
  const { host, path } = normalized(registry);
  const inPath = pathOf(image);
  if (path !== '' && inPath !== path && !inPath.startsWith(`${path}/`)) return undefined;
  const segments = path === '' ? 0 : path.split('/').length;
  const imageHost = image.host.toLowerCase();
  const isWildcard = host.startsWith('*.');
  if (!isWildcard && host !== imageHost) return undefined;
  if (isWildcard && !imageHost.endsWith(host.slice(1))) return undefined;
  return (isWildcard ? 0 : 1_000_000) + segments * 1_000 + host.length;
}

/** Returns the most specific registry for an image, the first one of equal ones; undefined if none matches. */
export function mostSpecific<T>(
  candidates: readonly T[],
  registryOf: (candidate: T) => string,
  image: ImageReference,
): T | undefined {
  let best: { readonly candidate: T; readonly score: number } | undefined;
  for (const candidate of candidates) {
    const score = specificity(registryOf(candidate), image);
    if (score !== undefined && (!best || score > best.score)) best = { candidate, score };
  }
  return best?.candidate;
}
