import { failedPrecondition, notFound, StatusError } from 'kedge';
import { isJsonObject, type JsonObject, textOf } from 'kedge/rpc';
import type { ApiParts, CallContext, CustomMethod } from 'kedge/server';
import type { NodeImages } from '../agent/index.js';
import type { ConnectedAgents } from '../agent-requests/connected-agents.js';
import { remoteImages } from '../agent-requests/remote-images.js';
import { nodes } from '../node/kind.js';
import { type ImageAccess, imagesHere } from '../agent-requests/image-access.js';
import { imagePageOf } from '../agent-requests/image-pages.js';
import { type UploadBounds, uploadOf } from './upload.js';

/** Options of the image methods. */
export interface ImageVerbOptions {
  readonly images?: NodeImages | undefined;
  readonly agents: ConnectedAgents;
  /** Default: 64 GiB, and 120 s without data. */
  readonly uploadBounds?: UploadBounds;
}

/** Concurrent loads of a node: each causes disk I/O of the engine. */
const loadsMax = 2;
/** Bytes between two progress messages. */
const progressBytes = 1_048_576;

interface Requested {
  readonly node: string;
  readonly images: ImageAccess;
}

/**
 * The images that a request is for: those of the named node, or of the node of this server.
 * @param remedy what to type on another node whose agent is not connected
 * @throws StatusError NotFound if the node does not exist; FailedPrecondition (RuntimeUnavailable) for the node of this
 * server if it has no container runtime
 */
async function requestedImages(
  { store, clock }: ApiParts,
  { images, agents }: Pick<ImageVerbOptions, 'images' | 'agents'>,
  request: JsonObject,
  remedy: string,
): Promise<Requested> {
  const node = textOf(request, 'node') || images?.node;
  if (node === undefined)
    throw failedPrecondition(
      'RuntimeUnavailable',
      'the node of this server has no container runtime and therefore no images; name another node: --node NODE',
    );
  if (images && node === images.node) return { node, images: imagesHere(images) };
  if (!(await store.get(nodes, { name: node }))) throw notFound({ kind: 'Node', name: node });
  const what = `the images of node ${node}`;
  return { node, images: remoteImages(agents, { node, what, remedy, clock }) };
}

async function* load(
  { clock }: ApiParts,
  images: ImageAccess,
  signal: AbortSignal,
  further: AsyncIterable<JsonObject>,
  uploadBounds: UploadBounds | undefined,
): AsyncIterable<JsonObject> {
  let text = '';
  let wake: () => void = () => undefined;
  const upload = uploadOf(further, clock, () => wake(), uploadBounds);
  let result: readonly string[] | undefined;
  let failure: Error | undefined;
  const loading = images
    .load(
      upload.tar,
      (progress) => {
        text = progress;
        wake();
      },
      signal,
    )
    .then(
      (names) => (result = names),
      (error: unknown) => (failure = upload.failure() ?? StatusError.from(error)),
    )
    .finally(() => wake());
  let sentBytes = 0;
  let sentText = '';
  try {
    while (result === undefined && failure === undefined) {
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
      const receivedBytes = upload.receivedBytes();
      if (receivedBytes < sentBytes + progressBytes && text === sentText) continue;
      sentBytes = receivedBytes;
      sentText = text;
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

/** `ImageService`. */
export function imageVerbs(
  parts: ApiParts,
  { images, agents, uploadBounds }: ImageVerbOptions,
): readonly CustomMethod[] {
  const requested = (request: JsonObject, remedy: string): Promise<Requested> =>
    requestedImages(parts, { images, agents }, request, remedy);
  /** Running loads by node. */
  const loads = new Map<string, number>();
  async function* bounded(
    { signal }: CallContext,
    request: JsonObject,
    further: AsyncIterable<JsonObject>,
  ): AsyncIterable<JsonObject> {
    const { node, images: there } = await requested(
      request,
      'load the tar archive: docker load -i FILE',
    );
    const running = loads.get(node) ?? 0;
    if (running >= loadsMax)
      throw new StatusError({
        code: 'ResourceExhausted',
        reason: 'TooManyLoads',
        message: `${loadsMax} loads of images are running, which is the limit; retry after the end of one`,
        retryAfterMs: 10_000,
      });
    loads.set(node, running + 1);
    try {
      yield* load(parts, there, signal, further, uploadBounds);
    } finally {
      const left = (loads.get(node) ?? 1) - 1;
      if (left > 0) loads.set(node, left);
      else loads.delete(node);
    }
  }
  return [
    {
      id: 'ImageService.List',
      access: access('list'),
      handler: {
        type: 'unary',
        async call({ signal }, request) {
          const page = imagePageOf(request);
          const { images: there } = await requested(request, 'list them: docker image ls');
          return there.list(signal, page);
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
          const { images: there } = await requested(request, 'remove them: docker image rm IMAGE');
          return there.prune(signal, request.dryRun === true);
        },
      },
    },
  ];
}
