import { type FieldViolation, type StatusCode, statusCodes, StatusError } from '../base/index.js';
import { BadRequest, ErrorInfo, ResourceInfo, RetryInfo } from './gen/google/rpc/error_details.js';
import { Status } from './gen/google/rpc/status.js';

const domain = 'kedge.dev';
const typeUrl = (name: string): string => `type.googleapis.com/google.rpc.${name}`;

/** Metadata key of the details, from the gRPC protocol. */
export const statusDetailsKey = 'grpc-status-details-bin';

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

const codeNames = Object.fromEntries(
  Object.entries(statusCodes).map(([name, code]) => [code, name]),
) as Readonly<Record<number, StatusCode>>;

/** The name of a gRPC status number; `Unknown` for one that gRPC does not define. */
export function statusCodeName(code: number): StatusCode {
  return codeNames[code] ?? 'Unknown';
}

/** A StatusError from a gRPC status and, where sent, its serialized details. */
export function decodeStatus(
  code: number,
  message: string,
  bytes: Uint8Array | undefined,
): StatusError {
  let reason = statusCodeName(code) as string;
  let violations: readonly FieldViolation[] = [];
  let retryAfterMs: number | undefined;
  for (const { typeUrl: url, value } of bytes ? Status.decode(bytes).details : []) {
    if (url === typeUrl('ErrorInfo')) reason = ErrorInfo.decode(value).reason;
    if (url === typeUrl('BadRequest')) violations = BadRequest.decode(value).fieldViolations;
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
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  });
}
