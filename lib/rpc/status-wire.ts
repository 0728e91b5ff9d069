import { type FieldViolation, type StatusCode, statusCodes, StatusError } from '../base/index.js';
import { BadRequest, ErrorInfo, ResourceInfo, RetryInfo } from './gen/google/rpc/error_details.js';
import { Status } from './gen/google/rpc/status.js';

type AboutObject = NonNullable<StatusError['resource']>;

const domain = 'kedge.dev';
const typeUrl = (name: string): string => `type.googleapis.com/google.rpc.${name}`;

/** Metadata key of the details, from the gRPC protocol. */
export const statusDetailsKey = 'grpc-status-details-bin';

/**
 * Maximum bytes of an error's message, and of its violations, in a gRPC answer. Both are sent in headers, which
 * contain the message twice and encode it. Clients refuse headers beyond 16 KiB, some by closing the connection.
 */
const messageBytesMax = 1_536;
const violationBytesMax = 3_072;

function clipped(text: string, bytesMax: number): string {
  if (Buffer.byteLength(text) <= bytesMax) return text;
  // A character that is cut in the middle decodes to a replacement character.
  return `${Buffer.from(text)
    .subarray(0, bytesMax)
    .toString()
    .replace(/\uFFFD+$/, '')}...`;
}

/**
 * A copy of an error that fits into the headers of a gRPC answer: long texts are truncated, and one entry says how many
 * later violations are omitted.
 */
export function headerSized(error: StatusError): StatusError {
  const violations: FieldViolation[] = [];
  let left = violationBytesMax;
  for (const { field, description } of error.violations) {
    const reported = { field: clipped(field, 512), description: clipped(description, 1_024) };
    left -= Buffer.byteLength(reported.field) + Buffer.byteLength(reported.description);
    if (left < 0) break;
    violations.push(reported);
  }
  const more = error.violations.length - violations.length;
  if (more > 0)
    violations.push({ field: '(object)', description: `and ${more} more that are not listed` });
  const { code, reason, resource, retryAfterMs } = error;
  return new StatusError({
    code,
    reason,
    message: clipped(error.message, messageBytesMax),
    violations,
    ...(resource ? { resource: { ...resource, ...clippedKey(resource) } } : {}),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    cause: error,
  });
}

function clippedKey({ namespace, name }: NonNullable<StatusError['resource']>): {
  readonly namespace?: string;
  readonly name: string;
} {
  const key = { name: clipped(name, 512) };
  return namespace === undefined ? key : { ...key, namespace: clipped(namespace, 512) };
}

/** A StatusError as serialized google.rpc.Status with its details. */
export function encodeStatus(error: StatusError): Uint8Array {
  const details = [
    {
      typeUrl: typeUrl('ErrorInfo'),
      value: ErrorInfo.encode({ reason: error.reason, domain, metadata: {} }).finish(),
    },
  ];
  if (error.violations.length > 0) {
    const fieldViolations = error.violations.map((v) => ({ ...v }));
    const value = BadRequest.encode({ fieldViolations }).finish();
    details.push({ typeUrl: typeUrl('BadRequest'), value });
  }
  if (error.resource) {
    const { kind, namespace, name } = error.resource;
    const value = ResourceInfo.encode({
      resourceType: kind,
      resourceName: namespace ? `${namespace}/${name}` : name,
      owner: '',
      description: '',
    }).finish();
    details.push({ typeUrl: typeUrl('ResourceInfo'), value });
  }
  if (error.retryAfterMs !== undefined) {
    const seconds = BigInt(Math.floor(error.retryAfterMs / 1_000));
    const nanos = (error.retryAfterMs % 1_000) * 1_000_000;
    const value = RetryInfo.encode({ retryDelay: { seconds, nanos } }).finish();
    details.push({ typeUrl: typeUrl('RetryInfo'), value });
  }
  return Status.encode({
    code: statusCodes[error.code],
    message: error.message,
    details,
  }).finish();
}

/** The object that an error is about, parsed from the name that {@link encodeStatus} writes. */
function resourceOf({ resourceType: kind, resourceName }: ResourceInfo): AboutObject {
  const slash = resourceName.indexOf('/');
  if (slash < 0) return { kind, name: resourceName };
  return { kind, namespace: resourceName.slice(0, slash), name: resourceName.slice(slash + 1) };
}

const codeNames = Object.fromEntries(
  Object.entries(statusCodes).map(([name, code]) => [code, name]),
) as Readonly<Record<number, StatusCode>>;

/** The name of a gRPC status number; `Unknown` for one that gRPC does not define. */
export function statusCodeName(code: number): StatusCode {
  return codeNames[code] ?? 'Unknown';
}

/**
 * A StatusError from a gRPC status and, where sent, its serialized details. Without details, the reason is the name of
 * the code.
 * @throws Error for details that are not valid protobuf
 */
export function decodeStatus(
  code: number,
  message: string,
  bytes: Uint8Array | undefined,
): StatusError {
  let reason = statusCodeName(code) as string;
  let violations: readonly FieldViolation[] = [];
  let retryAfterMs: number | undefined;
  let resource: AboutObject | undefined;
  for (const { typeUrl: url, value } of bytes ? Status.decode(bytes).details : []) {
    if (url === typeUrl('ErrorInfo')) reason = ErrorInfo.decode(value).reason;
    if (url === typeUrl('BadRequest')) violations = BadRequest.decode(value).fieldViolations;
    if (url === typeUrl('ResourceInfo')) resource = resourceOf(ResourceInfo.decode(value));
    if (url === typeUrl('RetryInfo')) {
      const delay = RetryInfo.decode(value).retryDelay;
      if (delay) retryAfterMs = Number(delay.seconds) * 1_000 + delay.nanos / 1_000_000;
    }
  }
  return new StatusError({
    code: statusCodeName(code),
    reason,
    message,
    violations,
    ...(resource ? { resource } : {}),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  });
}
