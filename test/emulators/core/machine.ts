import type { Action, ActionFate, ActionFailure } from './actions.js';
import type { DeviceChange } from './devices.js';
import type { Reply, WireRequest } from './wire.js';

/** The answer to a request, and whether the request started an action. */
export interface Handled {
  readonly reply: Reply;
  readonly startedAction: boolean;
  /** Name of the request's token; absent for an unknown token. */
  readonly token?: string;
  /** Whether the emulator has no route for the method and path. The provider may have one. */
  readonly unknownRoute?: boolean;
  /** The later answer of a call that waits. Its body replaces that of `reply`; its status and headers are not used. */
  readonly later?: Later;
}

/** An answer that the provider gives at a later time, in milliseconds of the clock. */
export interface Later {
  readonly at: number;
  readonly answer: (now: number) => Reply;
}

/** A token of the provider. */
export interface Token {
  /** Stands for the secret in the log of requests. */
  readonly name: string;
  readonly secret: string;
  /** The rights of the token, in the provider's terms. Default: all rights. */
  readonly scopes?: readonly string[];
  /** Id of an access key of cloud3, whose secret signs requests; default its name. */
  readonly keyId?: string;
  /** The session token that requests with a temporary access key of cloud3 have. */
  readonly sessionToken?: string;
  /** End of a temporary access key, in milliseconds since the epoch. */
  readonly expiresAt?: number;
}

/** A machine on which volumes can be attached: the provider's droplet or server. */
export interface Instance {
  readonly name: string;
  /** Region, location or zone. */
  readonly place: string;
  /** Whether it has a GPU. Lists of cloud1 without a type omit such droplets. */
  readonly gpu?: boolean;
  /** Its private DNS name at cloud3; default one that follows from its address. */
  readonly dnsName?: string;
  /** Its type at cloud3, which decides how many volumes it can have. */
  readonly type?: string;
}

/** The behaviour of a provider, without HTTP and without a clock. Times are milliseconds of the caller's clock. */
export interface Machine {
  /** Answers one request. */
  handle(request: WireRequest, now: number, fate: ActionFate): Handled;
  /** Ends the due actions, with their effects. */
  settle(now: number): void;
  /** The time of the next end of an action; undefined if there is none. */
  readonly nextEnd: number | undefined;
  /** The changes of disks since the last call. */
  takeChanges(): readonly DeviceChange[];
  /** The resources of users: `volume ID NAME`, `snapshot ID NAME`, `attached ID to INSTANCE`. */
  inventory(): readonly string[];
  readonly actions: readonly Action<unknown>[];
  finishAction(id: number, now: number): void;
  failAction(id: number, now: number, failure: ActionFailure): void;
  forgetAction(id: number): void;
  addInstance(instance: Instance): void;
  /** Removes an instance, and detaches its volumes. */
  removeInstance(name: string, now: number): void;
  addToken(token: Token): void;
  revokeToken(name: string): void;
  /** Makes each volume that is created later missing from this many lists. */
  lagLists(reads: number): void;
  /** Makes a region or location full, so that it refuses new volumes, or not full again. */
  setFull(place: string, full: boolean): void;
  /** Returns the answer of a reached rate limit. */
  rateLimited(retryAfterSeconds: number | undefined, now: number): Reply;
  serverError(status: number): Reply;
  /** Adds the id of a request to its answer. Default: the headers of cloud1 and cloud2. */
  identify?(reply: Reply, requestId: string): Reply;
  /**
   * Returns the resources and the actions as JSON data, for a restart. Tokens, rate limits, full places and lags of
   * lists are not in it.
   */
  save(): unknown;
}
