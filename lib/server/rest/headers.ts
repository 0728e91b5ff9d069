import type { FastifyReply, FastifyRequest } from 'fastify';
import { invalid } from '../../base/index.js';
import { requireObjectVersion } from '../../object/index.js';
import {
  bodyField,
  isJsonObject,
  type JsonObject,
  type MethodInfo,
  textOf,
} from '../../rpc/index.js';

/** The entity tag of an answer: the object's version. Undefined for an answer that is not an object. */
export function entityTag(answer: JsonObject): string | undefined {
  const metadata = isJsonObject(answer.metadata) ? answer.metadata : {};
  const version = textOf(metadata, 'resourceVersion');
  return version === '' ? undefined : `"${version}"`;
}

/** Whether `If-None-Match` matches the client's copy (RFC 9110 13.1.2). */
export function isKnown(header: string | undefined, tag: string | undefined): boolean {
  if (header === undefined || tag === undefined) return false;
  const tags = header.split(',').map((t) => t.trim().replace(/^W\//, ''));
  return tags.includes('*') || tags.includes(tag);
}

function refuse(description: string): never {
  throw invalid([{ field: 'If-Match', description }]);
}

/** Verbs that support a precondition on the version. */
const conditional = ['Update', 'UpdateStatus', 'Delete'];

/**
 * Returns the request with the version of `If-Match` (RFC 9110 13.1.1). An absent header, or `*`, changes nothing.
 * @throws StatusError InvalidArgument if the header can't be applied: without it the write could overwrite data that
 * the client wanted to keep
 */
export function withPrecondition(
  method: MethodInfo,
  request: JsonObject,
  header: string | undefined,
): JsonObject {
  if (header === undefined || header === '*') return request;
  const { standard } = method;
  if (!standard || !conditional.includes(standard.verb))
    refuse(`is not used by ${method.id}; omit it`);
  const version = /^"([^",]*)"$/.exec(header.trim())?.[1];
  if (version === undefined)
    refuse(`${JSON.stringify(header)} must be one entity tag of an earlier answer, such as "42"`);
  requireObjectVersion(version, 'If-Match');
  const requireSame = (given: string): void => {
    if (given !== '' && given !== version)
      refuse(`"${version}" differs from resourceVersion "${given}"; use only one of them`);
  };
  if (standard.verb === 'Delete') {
    requireSame(textOf(request, 'resourceVersion'));
    return { ...request, resourceVersion: version };
  }
  const field = bodyField(standard.kind);
  const body = isJsonObject(request[field]) ? request[field] : {};
  const metadata = isJsonObject(body.metadata) ? body.metadata : {};
  requireSame(textOf(metadata, 'resourceVersion'));
  return {
    ...request,
    [field]: { ...body, metadata: { ...metadata, resourceVersion: version } },
  };
}

/** Whether a client accepts gzip (RFC 9110 12.5.3). */
export function acceptsGzip(header: string | undefined): boolean {
  return (header ?? '').split(',').some((part) => {
    const [coding = '', ...parameters] = part.split(';').map((word) => word.trim().toLowerCase());
    const refused = parameters.some((p) => /^q=0(\.0*)?$/.test(p));
    return (coding === 'gzip' || coding === '*') && !refused;
  });
}

/** Whether errors are requested in the form of RFC 9457. */
export function wantsProblem(header: string | undefined): boolean {
  return (header ?? '').toLowerCase().includes('application/problem+json');
}

const shownHeaders = 'etag, x-request-id, retry-after';
const sentHeaders = 'authorization, content-type, if-match, if-none-match, last-event-id';
const preflightSeconds = 600;

/** Cross-origin access for the configured origins only. */
export class CrossOrigin {
  readonly #origins: ReadonlySet<string>;

  constructor(origins: readonly string[]) {
    this.#origins = new Set(origins);
  }

  /** CORS headers of an answer or stream. */
  headersFor(request: FastifyRequest): Readonly<Record<string, string>> {
    const { origin } = request.headers;
    if (this.#origins.size === 0) return {};
    if (origin === undefined || !this.#origins.has(origin)) return { vary: 'origin' };
    return {
      vary: 'origin',
      'access-control-allow-origin': origin,
      'access-control-expose-headers': shownHeaders,
    };
  }

  /** Answers a preflight. Returns false if the request is not an allowed preflight. */
  preflight(request: FastifyRequest, reply: FastifyReply, methods: readonly string[]): boolean {
    const { origin } = request.headers;
    const asked = request.headers['access-control-request-method'];
    if (request.method !== 'OPTIONS' || asked === undefined) return false;
    if (origin === undefined || !this.#origins.has(origin) || methods.length === 0) return false;
    void reply
      .code(204)
      .headers({
        ...this.headersFor(request),
        'access-control-allow-methods': methods.join(', '),
        'access-control-allow-headers': sentHeaders,
        'access-control-max-age': String(preflightSeconds),
      })
      .send();
    return true;
  }
}
