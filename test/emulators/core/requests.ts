/** One request in an emulator's log. No secrets: a token is named. */
export interface LoggedRequest {
  /** Counts from 1. */
  readonly number: number;
  /** Milliseconds of the emulator's clock. */
  readonly at: number;
  /** The name of the token; absent if it is not known. */
  readonly token?: string;
  readonly method: string;
  readonly path: string;
  readonly query: readonly (readonly [name: string, value: string])[];
  /** The body as it came. */
  readonly body: string;
  /** The status of the answer; absent if there was none. */
  readonly status?: number;
  /** The type of the scripted fault. */
  readonly fault?: string;
  readonly requestId: string;
  /** What the schema objects to. */
  readonly violations: readonly string[];
  /** The emulator has no such path and method. */
  readonly unknownRoute: boolean;
}
