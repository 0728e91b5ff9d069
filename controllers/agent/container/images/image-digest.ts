import { parseImage } from '../../../service/image/image-reference.js';
import type { EngineImage } from '../engine/engine-images.js';

/** The repository of a name without its tag and digest. */
function repositoryOf(name: string): string | undefined {
  return parseImage(name)?.repository;
}

/**
 * The name of exactly this content: the digest that a registry gave to the image, of the requested repository
 * if it has several; the id of an image that came from no registry.
 */
export function digestOf({ id, digests }: EngineImage, name: string): string {
  const repository = repositoryOf(name);
  return digests.find((digest) => repositoryOf(digest) === repository) ?? digests[0] ?? id;
}
