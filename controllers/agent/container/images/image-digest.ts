import { parseImage } from '../../../service/image/image-reference.js';
import type { EngineImage } from '../engine/engine-images.js';
import { familiar } from './image-users.js';

/** Returns an image name without its tag and digest, as the engine writes it; undefined for an invalid name. */
function repositoryOf(name: string): string | undefined {
  const parsed = parseImage(name);
  return parsed && familiar(parsed.repository);
}

/**
 * The immutable name of an image: the digest from its registry, of the requested repository if it has several;
 * otherwise its id.
 */
export function digestOf({ id, digests }: EngineImage, name: string): string {
  const repository = repositoryOf(name);
  return digests.find((digest) => repositoryOf(digest) === repository) ?? digests[0] ?? id;
}
