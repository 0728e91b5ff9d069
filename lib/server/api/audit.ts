import type { StatusCode } from '../../base/index.js';

/** One call, for the record: who, what, with which result. Never what was in it. */
export interface AuditEntry {
  /** RFC 3339, UTC. */
  readonly time: string;
  readonly requestId: string;
  /** Empty without an authenticated caller. */
  readonly subject: string;
  readonly tokenId: string;
  readonly peer: string;
  readonly transport: 'grpc' | 'rest';
  /** `VolumeService.Delete` */
  readonly method: string;
  /** The requested action, if known. */
  readonly verb: string;
  readonly resource: string;
  readonly namespace: string;
  readonly name: string;
  /**
   * Of a transaction or cast: how many operations it has. An accepted one has an entry for each object
   * that it wrote, a refused one for its first few operations.
   */
  readonly operations?: number;
  /** `begin` of a stream; all others are recorded at their end. */
  readonly stage: 'begin' | 'end';
  readonly code: StatusCode;
  /** Of a failure. */
  readonly reason: string;
  readonly durationMs: number;
}

/** The sink of audit entries. Must neither throw nor block. */
export interface AuditSink {
  /** Whether an entry with these would be kept: what is not is not even made. */
  wants(verb: string, code: StatusCode): boolean;
  record(entry: AuditEntry): void;
}
