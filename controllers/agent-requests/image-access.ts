import type { Readable } from 'node:stream';
import { failedPrecondition, StatusError } from 'kedge';
import type { JsonObject } from 'kedge/rpc';
import { EngineError, type NodeImage, type NodeImages } from '../agent/index.js';
import { fitting, imagePage, type ImagePageRequest, wholeList } from './image-pages.js';

/** The images of this node or of another one, in the form of the API. Errors are StatusErrors. */
export interface ImageAccess {
  /** An answer of `ImageService.List`. */
  list(signal: AbortSignal, page: ImagePageRequest): Promise<JsonObject>;
  /** Loads a tar archive; returns the names of the images, or ids of those without one. */
  load(
    tar: Readable,
    onText: (text: string) => void,
    signal: AbortSignal,
  ): Promise<readonly string[]>;
  /** An answer of `ImageService.Prune`. */
  prune(signal: AbortSignal, dryRun: boolean): Promise<JsonObject>;
}

function shown({ users, usedAt, origin, ...image }: NodeImage): JsonObject {
  const { id, tags, digests, sizeBytes, createdAt } = image;
  return {
    ...{ id, tags, digests, sizeBytes: `${sizeBytes}` },
    createdAt: new Date(createdAt * 1_000).toISOString(),
    ...(origin && { origin }),
    ...(usedAt !== undefined && { usedAt: new Date(usedAt).toISOString() }),
    instances: users,
  };
}

/** Converts an error of the engine for the caller. */
function engineFailure({ node }: NodeImages, error: unknown): Error {
  if (!(error instanceof EngineError)) return StatusError.from(error);
  const resource = { kind: 'Node', name: node };
  if (['Unreachable', 'Unsupported', 'Broken', 'Timeout'].includes(error.kind))
    return failedPrecondition('RuntimeUnavailable', error.message, resource);
  const full = /no space left on device/.test(error.message)
    ? '; free disk space with kedge image prune'
    : '';
  return failedPrecondition(
    'EngineRefused',
    `the container engine of node ${node} rejected the request: ${error.message}${full}`,
    resource,
  );
}

/** The images of this process's own engine. */
export interface OwnImages extends ImageAccess {
  /** An answer of `ImageService.List` with all images, for a server of an earlier release. */
  listWhole(signal: AbortSignal): Promise<JsonObject>;
}

/** The images of this process's own engine. */
export function imagesHere(images: NodeImages): OwnImages {
  const withNode = async <T>(work: Promise<T>): Promise<T> => {
    try {
      return await work;
    } catch (error) {
      throw engineFailure(images, error);
    }
  };
  return {
    list: (signal, page) =>
      withNode(images.list(signal).then((found) => imagePage(found, shown, page))),
    listWhole: (signal) =>
      withNode(images.list(signal).then((found) => wholeList(images.node, found, shown))),
    load: (tar, onText, signal) => withNode(images.load(tar, onText, signal)),
    prune: (signal, dryRun) =>
      withNode(
        images.prune(signal, { dryRun }).then((removed) => ({
          removed: fitting(removed, shown),
          removedCount: removed.length,
          sizeBytes: `${removed.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0)}`,
        })),
      ),
  };
}
