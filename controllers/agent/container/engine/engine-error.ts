import { engineAbsent, engineStopped } from '../../../messages/starts.js';

/**
 * The outcome of a failed call to the container engine:
 * - `Unreachable`: no connection; the engine did not receive the call
 * - `Broken`: the connection ended midway; the outcome of the call is unknown
 * - `Timeout`: as `Broken`, by the deadline
 * - `Cancelled`: as `Broken`, by the caller's signal
 * - `Unsupported`: the engine supports no version of the API that this client supports
 * - `Malformed`: the answer can't be parsed
 * - the others: the engine refused the call, by its HTTP status; `Failed` also for an error in the stream of an answer,
 *   and for a tar archive that can't be loaded
 */
export type EngineErrorKind =
  | 'Unreachable'
  | 'Broken'
  | 'Timeout'
  | 'Cancelled'
  | 'Unsupported'
  | 'Malformed'
  | 'BadRequest'
  | 'Unauthorized'
  | 'NotFound'
  | 'Conflict'
  | 'Failed';

/** A failed call to the container engine; the message includes the engine's own message. */
export class EngineError extends Error {
  override readonly name = 'EngineError';
  readonly kind: EngineErrorKind;
  /** HTTP status of a refusal. */
  readonly status: number | undefined;

  constructor(
    kind: EngineErrorKind,
    message: string,
    options: { readonly status?: number; readonly cause?: unknown } = {},
  ) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined);
    this.kind = kind;
    this.status = options.status;
  }
}

/** Whether an error is a failed call of one of the kinds. */
export function isEngineError(error: unknown, ...kinds: readonly EngineErrorKind[]): boolean {
  return error instanceof EngineError && kinds.includes(error.kind);
}

/** The kind of a refusal by its HTTP status. */
export function kindOfStatus(status: number): EngineErrorKind {
  switch (status) {
    case 400:
      return 'BadRequest';
    case 401:
    case 403:
      return 'Unauthorized';
    case 404:
      return 'NotFound';
    case 409:
      return 'Conflict';
    default:
      return 'Failed';
  }
}

/** Converts an error of the socket: Unreachable with the remedy if no connection was made, otherwise Broken. */
export function socketError(socketPath: string, cause: NodeJS.ErrnoException): EngineError {
  const at = `the container engine's socket ${socketPath}`;
  switch (cause.code) {
    case 'ENOENT':
      return new EngineError(
        'Unreachable',
        `${engineAbsent.format({ path: socketPath })}; install and start an engine (Debian: apt-get install docker.io), or set runtime.dockerSocket`,
        { cause },
      );
    case 'EACCES':
    case 'EPERM':
      return new EngineError(
        'Unreachable',
        `${at} can't be opened by the user of kedged; add the user to the socket's group (usermod -aG docker USER) and restart kedged, or run kedged as root`,
        { cause },
      );
    case 'ECONNREFUSED':
    case 'ENOTSOCK':
      return new EngineError(
        'Unreachable',
        `${engineStopped.format({ path: socketPath })}; start the engine (systemctl start docker), or set runtime.dockerSocket`,
        { cause },
      );
    default:
      return new EngineError('Broken', `the connection to ${at} broke: ${cause.message}`, {
        cause,
      });
  }
}
