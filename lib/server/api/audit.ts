import type { StatusCode } from '../../base/index.js';

/** The record of one call: caller, action and result, without its content. */
export interface AuditEntry {
  /** RFC 3339, UTC. */
  readonly time: string;
  readonly requestId: string;
  /** Name of the caller; empty if the caller was not authenticated. */
  readonly subject: string;
  readonly tokenId: string;
  readonly peer: string;
  readonly transport: 'grpc' | 'rest';
  /** Id of the called method, such as `LampService.Delete`; empty for an unknown path. */
  readonly method: string;
  /** The requested action, if known. */
  readonly verb: string;
  readonly resource: string;
  readonly namespace: string;
  readonly name: string;
  /**
   * Number of operations of a transaction or cast. An accepted one has an entry for each object that it wrote, a
   * refused one for its first few operations.
   */
  readonly operations?: number;
  /** `begin` of a stream; all other entries are recorded at the end. */
  readonly stage: 'begin' | 'end';
  readonly code: StatusCode;
  /** The reason of a failure. */
  readonly reason: string;
  readonly durationMs: number;
}

/** The sink of audit entries. Must neither throw nor block. */
export interface AuditSink {
  /** Whether an entry with these values would be kept. The server creates only entries that are kept. */
  wants(verb: string, code: StatusCode): boolean;
  record(entry: AuditEntry): void;
}
