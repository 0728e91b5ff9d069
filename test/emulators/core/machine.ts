import type { Action, ActionFate, ActionFailure } from './actions.js';
import type { DeviceChange } from './devices.js';
import type { Reply, WireRequest } from './wire.js';

/** The answer to a request, and whether the request started an action. */
export interface Handled {
  readonly reply: Reply;
  readonly startedAction: boolean;
  /** The name of the token; absent if it is not known. */
  readonly token?: string;
  /** The provider has this path and method, but the emulator does not; or nobody has it. */
  readonly unknownRoute?: boolean;
}

/** A token of the provider. */
export interface Token {
  /** For the log of requests: the secret never appears there. */
  readonly name: string;
  readonly secret: string;
  /** What it may do, in the provider's words; default everything. */
  readonly scopes?: readonly string[];
}

/** A machine on which volumes can be attached: the provider's droplet or server. */
export interface Instance {
  readonly name: string;
  /** Region or location. */
  readonly place: string;
  /** cloud1: it has a GPU, and is left out of plain lists. */
  readonly gpu?: boolean;
}

/** A provider without HTTP and without time of its own. */
export interface Machine {
  /** Answers one request. */
  handle(request: WireRequest, now: number, fate: ActionFate): Handled;
  /** Ends the actions that are due. */
  settle(now: number): void;
  /** When the next action ends. */
  readonly nextEnd: number | undefined;
  /** The changes of disks since the last call. */
  takeChanges(): readonly DeviceChange[];
  /** Everything that a user could have left behind: `volume ID NAME`, `snapshot ID NAME`, `attached ID to INSTANCE`. */
  inventory(): readonly string[];
  readonly actions: readonly Action<unknown>[];
  finishAction(id: number, now: number): void;
  failAction(id: number, now: number, failure: ActionFailure): void;
  forgetAction(id: number): void;
  addInstance(instance: Instance): void;
  /** The instance is gone; its volumes are attached nowhere. */
  removeInstance(name: string): void;
  addToken(token: Token): void;
  revokeToken(name: string): void;
  /** Created volumes are missing from this many lists, each. */
  lagLists(reads: number): void;
  /** A full region or location takes no new volumes. */
  setFull(place: string, full: boolean): void;
  /** The provider's answers for faults. */
  rateLimited(retryAfterSeconds: number | undefined, now: number): Reply;
  serverError(status: number): Reply;
  /** The form of the whole state, for a restart. */
  save(): unknown;
}
