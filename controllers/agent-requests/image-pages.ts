import { counted, failedPrecondition, invalid, limits } from 'kedge';
import { isJsonObject, type JsonObject, textOf } from 'kedge/rpc';
import type { NodeImage } from '../agent/index.js';

/** The page of a list of images to return. */
export interface ImagePageRequest {
  readonly limit: number;
  /** The last image of the previous page; undefined for the first page. */
  readonly after: Pick<NodeImage, 'createdAt' | 'id'> | undefined;
}

const tokenPattern = /^(-?\d{1,15}) (\S{1,200})$/;

/** Reads `limit` and `pageToken` of a request. @throws StatusError InvalidArgument */
export function imagePageOf(request: JsonObject): ImagePageRequest {
  const { limit = 0 } = request;
  if (typeof limit !== 'number' || limit < 0 || limit > limits.pageSizeMax)
    throw invalid([
      { field: 'limit', description: `${String(limit)} must be from 0 to ${limits.pageSizeMax}` },
    ]);
  const token = textOf(request, 'pageToken');
  const [, createdAt, id] = tokenPattern.exec(Buffer.from(token, 'base64url').toString()) ?? [];
  if (token !== '' && id === undefined)
    throw invalid([
      { field: 'pageToken', description: 'is not of a list of images; list from the first page' },
    ]);
  return {
    limit: limit || limits.pageSizeDefault,
    after: id === undefined ? undefined : { createdAt: Number(createdAt), id },
  };
}

/** The fields of a request for a page, for the agent of another node. */
export function imagePageFields({ limit, after }: ImagePageRequest): JsonObject {
  return { limit, ...(after && { pageToken: tokenOf(after) }) };
}

function tokenOf({ createdAt, id }: Pick<NodeImage, 'createdAt' | 'id'>): string {
  return Buffer.from(`${createdAt} ${id}`).toString('base64url');
}

/** The first items that fit into one message, like a page of other lists: at least one, if there is any. */
export function fitting<T>(
  items: Iterable<T>,
  shown: (item: T) => JsonObject,
  {
    limit = Infinity,
    bytesMax = limits.listMessageBytes,
  }: { readonly limit?: number; readonly bytesMax?: number } = {},
): readonly JsonObject[] {
  const fits: JsonObject[] = [];
  let bytes = 0;
  for (const each of items) {
    const item = shown(each);
    bytes += Buffer.byteLength(JSON.stringify(item));
    if (fits.length > 0 && (fits.length >= limit || bytes > bytesMax)) break;
    fits.push(item);
  }
  return fits;
}

type Position = Pick<NodeImage, 'createdAt' | 'id'>;

function pageAmong<T>(
  all: readonly T[],
  shown: (item: T) => JsonObject,
  positionOf: (item: T) => Position,
  { limit, after }: ImagePageRequest,
): JsonObject {
  const rest = after ? all.filter((item) => isBehind(positionOf(item), after)) : all;
  const items = fitting(rest, shown, { limit });
  const last = rest[items.length - 1];
  return {
    items,
    ...(last && items.length < rest.length && { nextPageToken: tokenOf(positionOf(last)) }),
  };
}

function isBehind({ createdAt, id }: Position, after: Position): boolean {
  return createdAt < after.createdAt || (createdAt === after.createdAt && id > after.id);
}

/**
 * An answer of `ImageService.List`.
 * @param images all images, the newest first, those of the same time by their ids
 */
export function imagePage(
  images: readonly NodeImage[],
  shown: (image: NodeImage) => JsonObject,
  page: ImagePageRequest,
): JsonObject {
  return pageAmong(images, shown, (image) => image, page);
}

/** Bytes of an answer to a server of an earlier release, which accepts messages of 4 MiB. */
const wholeBytesMax = 3 * 1_048_576;

/**
 * All images in one answer, for a server of an earlier release, which asks for no page and would take the first one for
 * all images.
 * @throws StatusError FailedPrecondition (TooManyImages) if they do not fit
 */
export function wholeList(
  node: string,
  images: readonly NodeImage[],
  shown: (image: NodeImage) => JsonObject,
): JsonObject {
  const items = fitting(images, shown, { bytesMax: wholeBytesMax });
  if (items.length === images.length) return { items };
  throw failedPrecondition(
    'TooManyImages',
    `node ${node} has ${counted(images.length, 'image')}, more than a server of an earlier release can receive; upgrade the server, or on node ${node}, list them: docker image ls`,
    { kind: 'Node', name: node },
  );
}

function positionIn(item: JsonObject): Position {
  return {
    createdAt: Math.floor(Date.parse(textOf(item, 'createdAt')) / 1_000),
    id: textOf(item, 'id'),
  };
}

/**
 * The page in the answer of an agent. An agent of an earlier release always answers with all images, in any order among
 * those of the same time.
 */
export function pageOfAnswer(answer: JsonObject, page: ImagePageRequest): JsonObject {
  const items = (Array.isArray(answer.items) ? answer.items : []).filter(isJsonObject);
  const sorted = items.toSorted((a, b) => (isBehind(positionIn(b), positionIn(a)) ? -1 : 1));
  const next = textOf(answer, 'nextPageToken');
  return {
    ...(next !== '' && { nextPageToken: next }),
    ...pageAmong(sorted, (item) => item, positionIn, page),
  };
}
