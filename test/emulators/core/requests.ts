/** One request in an emulator's log. It has the name of the token instead of its secret. */
export interface LoggedRequest {
  /** Number of the request, from 1. */
  readonly number: number;
  /** Time of the request, in milliseconds of the emulator's clock. */
  readonly at: number;
  /** Name of the token; absent for an unknown token. */
  readonly token?: string;
  readonly method: string;
  readonly path: string;
  readonly query: readonly (readonly [name: string, value: string])[];
  /** The action that the form in the body names, at cloud3. */
  readonly action?: string;
  /** The unparsed body. */
  readonly body: string;
  /** Status of the answer; absent if there was no complete answer. */
  readonly status?: number;
  /** Type of the request's scripted fault; absent if there was none. */
  readonly fault?: string;
  readonly requestId: string;
  /** Deviations of the request from the provider's definition. */
  readonly violations: readonly string[];
  /** Whether the emulator has no route for the method and path. */
  readonly unknownRoute: boolean;
}
