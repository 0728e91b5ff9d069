import { failedPrecondition, notFound, StatusError } from 'kedge';
import { isJsonObject, type JsonObject, textOf } from 'kedge/rpc';
import type { ApiParts, CallContext, CustomMethod } from 'kedge/server';
import { EngineError, type NodeImage, type NodeImages } from '../agent/index.js';
import { nodes } from '../node/kind.js';
import { onOtherNode } from '../node/other-node.js';
import { uploadOf } from './upload.js';

/** Options of the image methods. */
export interface ImageVerbOptions {
  readonly images?: NodeImages | undefined;
}

/** Concurrent loads of a node: each causes disk I/O of the engine. */
const loadsMax = 2;
/** Bytes between two progress messages. */
const progressBytes = 1_048_576;

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

/**
 * Checks that a request is for the node of this server.
 * @param remedy what to type on another node
 * @throws StatusError for another node, NotFound if it does not exist
 */
async function requireThisNode(
  { store }: ApiParts,
  { node: here }: NodeImages,
  request: JsonObject,
  remedy: string,
): Promise<void> {
  const name = textOf(request, 'node') || here;
  if (name === here) return;
  if (!(await store.get(nodes, { name }))) throw notFound({ kind: 'Node', name });
  const elsewhere = { node: name, here, what: `the images of node ${name}`, remedy };
  throw onOtherNode(elsewhere, { kind: 'Node', name });
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

async function* load(
  { clock }: ApiParts,
  images: NodeImages,
  signal: AbortSignal,
  further: AsyncIterable<JsonObject>,
): AsyncIterable<JsonObject> {
  let text = '';
  let wake: () => void = () => undefined;
  const upload = uploadOf(further, clock, () => wake());
  let result: readonly string[] | undefined;
  let failure: Error | undefined;
  const loading = images
    .load(
      upload.tar,
      (told) => {
        text = told;
        wake();
      },
      signal,
    )
    .then(
      (names) => (result = names),
      (error: unknown) => (failure = upload.failure() ?? engineFailure(images, error)),
    )
    .finally(() => wake());
  let toldBytes = 0;
  let toldText = '';
  try {
    while (result === undefined && failure === undefined) {
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
      const receivedBytes = upload.receivedBytes();
      if (receivedBytes < toldBytes + progressBytes && text === toldText) continue;
      toldBytes = receivedBytes;
      toldText = text;
      yield { progress: { receivedBytes: `${receivedBytes}`, text } };
    }
    if (failure !== undefined) throw failure;
    yield { progress: { receivedBytes: `${upload.receivedBytes()}`, text: '' } };
    yield { loaded: { images: result } };
  } finally {
    upload.tar.destroy();
    await loading;
  }
}

const access = (verb: string) =>
  ({ type: 'policy', resource: 'images', verb, scope: 'Cluster' }) as const;

/**
 * The methods of a server without a container runtime. Each method of the API needs a handler, or the server would not
 * start.
 */
function withoutImages(): readonly CustomMethod[] {
  const refusal = (): StatusError =>
    failedPrecondition(
      'RuntimeUnavailable',
      'this server has no container runtime and therefore no images',
    );
  const unary = { type: 'unary', call: () => Promise.reject(refusal()) } as const;
  const bidi = {
    type: 'bidi',
    opening: () => ({}),
    call: () => {
      throw refusal();
    },
  } as const;
  return [
    { id: 'ImageService.List', access: access('list'), handler: unary },
    { id: 'ImageService.Load', access: access('load'), handler: bidi },
    { id: 'ImageService.Prune', access: access('prune'), handler: unary },
  ];
}

/** `ImageService`. */
export function imageVerbs(parts: ApiParts, { images }: ImageVerbOptions): readonly CustomMethod[] {
  if (!images) return withoutImages();
  const here = images;
  let loads = 0;
  async function* bounded(
    { signal }: CallContext,
    request: JsonObject,
    further: AsyncIterable<JsonObject>,
  ): AsyncIterable<JsonObject> {
    await requireThisNode(parts, here, request, 'load the tar archive: docker load -i FILE');
    if (loads >= loadsMax)
      throw new StatusError({
        code: 'ResourceExhausted',
        reason: 'TooManyLoads',
        message: `${loadsMax} loads of images are running, which is the limit; retry after the end of one`,
        retryAfterMs: 10_000,
      });
    loads += 1;
    try {
      yield* load(parts, here, signal, further);
    } finally {
      loads -= 1;
    }
  }
  const called = async (work: Promise<JsonObject>): Promise<JsonObject> => {
    try {
      return await work;
    } catch (error) {
      throw engineFailure(images, error);
    }
  };
  return [
    {
      id: 'ImageService.List',
      access: access('list'),
      handler: {
        type: 'unary',
        async call({ signal }, request) {
          await requireThisNode(parts, images, request, 'list them: docker image ls');
          return called(images.list(signal).then((found) => ({ items: found.map(shown) })));
        },
      },
    },
    {
      id: 'ImageService.Load',
      access: access('load'),
      handler: {
        type: 'bidi',
        opening: (first) => (isJsonObject(first.start) ? first.start : {}),
        call: bounded,
      },
    },
    {
      id: 'ImageService.Prune',
      access: access('prune'),
      handler: {
        type: 'unary',
        async call({ signal }, request) {
          await requireThisNode(parts, images, request, 'remove them: docker image rm IMAGE');
          const dryRun = request.dryRun === true;
          return called(
            images.prune(signal, { dryRun }).then((removed) => ({
              removed: removed.map(shown),
              sizeBytes: `${removed.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0)}`,
            })),
          );
        },
      },
    },
  ];
}
