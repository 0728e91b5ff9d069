/** A request that an SDK has made and signed. */
export interface SignedRequest {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Whether it may change something; without an SDK, the method decides. */
  readonly changes: boolean;
}

/** One call of a provider's interface. */
export interface ProviderCall {
  /** Name of the call for metrics and messages, such as `createVolume`. */
  readonly name: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Path below the endpoint, such as `/v2/volumes`. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly token: string;
  /** Further secrets of the request. Like the token, they are masked in errors and in the journal. */
  readonly secrets?: readonly string[];
  /** Identifies the credential of the request budget if its tokens change; default: the token. */
  readonly credential?: string;
  /** Uids of the volumes and snapshots, for the journal. */
  readonly about: string | readonly string[];
  readonly signal: AbortSignal;
  /** The request that an SDK has made for the call; it is sent as it is, without the token. */
  readonly signed?: SignedRequest;
}

/** Whether a call may change something: without a readable answer its outcome is unknown then. */
export function mayChange({ method, signed }: ProviderCall): boolean {
  return signed?.changes ?? method !== 'GET';
}
