import { invalid, limits } from 'kedge';
import { type JsonObject, textOf } from 'kedge/rpc';
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

/** The first images that fit into one message, like a page of other lists: at least one, if there is any. */
export function fittingImages(
  images: Iterable<NodeImage>,
  shown: (image: NodeImage) => JsonObject,
  limit = Infinity,
): readonly JsonObject[] {
  const items: JsonObject[] = [];
  let bytes = 0;
  for (const image of images) {
    const item = shown(image);
    bytes += Buffer.byteLength(JSON.stringify(item));
    if (items.length > 0 && (items.length >= limit || bytes > limits.listMessageBytes)) break;
    items.push(item);
  }
  return items;
}

/**
 * An answer of `ImageService.List`.
 * @param images all images, the newest first, those of the same time by their ids
 */
export function imagePage(
  images: readonly NodeImage[],
  shown: (image: NodeImage) => JsonObject,
  { limit, after }: ImagePageRequest,
): JsonObject {
  const rest = after
    ? images.filter(
        ({ createdAt, id }) =>
          createdAt < after.createdAt || (createdAt === after.createdAt && id > after.id),
      )
    : images;
  const items = fittingImages(rest, shown, limit);
  const last = rest[items.length - 1];
  return {
    items,
    ...(last && items.length < rest.length && { nextPageToken: tokenOf(last) }),
  };
}
