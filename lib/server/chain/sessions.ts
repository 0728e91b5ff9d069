import {
  type Clock,
  linkSignals,
  type Logger,
  messageOf,
  sleep,
  TimeSlice,
  type Timer,
  within,
} from '../../base/index.js';
import {
  type Access,
  type AccessControl,
  type Authentication,
  type Identity,
  nodesOf,
} from '../auth/index.js';
import { PacedEnds, StreamEnd } from './paced-ends.js';
import { expired, renarrowed, tooMany } from './session-ends.js';

/** Options of sessions. */
export interface SessionOptions {
  readonly authenticator: Authentication;
  readonly authorizer: AccessControl;
  /** Yields whenever a right may have been revoked. Absent: rights are checked only when a session begins. */
  readonly changes?: ((signal: AbortSignal) => AsyncIterable<void>) | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Maximum number of open streams; default 8,192. */
  readonly max?: number;
}

interface Session {
  readonly identity: Identity;
  readonly access: Access | undefined;
  readonly end: StreamEnd;
}

/** A stream in progress. */
export interface OpenSession {
  /** Aborts with the caller's signal and with that of `end`. */
  readonly signal: AbortSignal;
  /** Is due when the right ends. */
  readonly end: StreamEnd;
  /** Removes the stream from the sessions; to be called when it has ended. */
  close(): void;
}

/** Default maximum of open streams; each costs memory. */
const sessionsMax = 8_192;
/** Delay before the watch of rights is restarted after its end. */
const retryMs = 1_000;
/** Maximum wait for checks in progress before the checks of a later change. */
const checkMs = 1_000;
/** Tokens whose checks begin together; more of them are checked over several turns of the event loop. */
const togetherMax = 32;

/**
 * Open streams with their rights: a stream ends with an error as soon as its token expires. With `changes` and an
 * authenticator that has `recheck`, it also ends as soon as its token is revoked, its user is deleted, or no policy
 * allows it any more.
 *
 * Their number is bounded. Beyond the limit, the account with the most streams loses its latest one, or is refused.
 */
export class Sessions {
  readonly #options: SessionOptions;
  readonly #open = new Set<Session>();
  /** The open streams of each account, oldest first. */
  readonly #accounts = new Map<string, Set<Session>>();
  readonly #ends: PacedEnds;
  readonly #stop = new AbortController();
  #following: Promise<void> | undefined;
  /** The check of many tokens in progress, for which the values of all streams wait. It never rejects. */
  readonly #checks: { present: Promise<void> | undefined } = { present: undefined };
  /** Whether rights have changed since the last check of all streams began. */
  #isChanged = false;
  #checking: Promise<void> | undefined;

  constructor(options: SessionOptions) {
    this.#options = options;
    this.#ends = new PacedEnds(options.clock);
  }

  /**
   * Registers a stream, whose `end` is due when its caller loses the right, and checks the right again.
   * @throws StatusError ResourceExhausted (TooManyStreams), Unauthenticated or PermissionDenied
   */
  async open(
    identity: Identity,
    access: Access | undefined,
    signal: AbortSignal,
  ): Promise<OpenSession> {
    const account = identity.uid ?? identity.subject;
    if (this.#open.size >= (this.#options.max ?? sessionsMax)) this.#makeRoom(account);
    const session: Session = { identity, access, end: new StreamEnd(this.#checks) };
    this.#add(account, session);
    this.#follow();
    const link = linkSignals(signal, session.end.signal);
    const timer = this.#untilExpiry(session);
    const close = (): void => {
      timer?.cancel();
      link[Symbol.dispose]();
      this.#remove(account, session);
    };
    try {
      // A right that was revoked after the authentication causes no further change event: check now.
      await this.#recheckToken([session]);
      session.end.throwIfDue();
    } catch (error) {
      close();
      throw error;
    }
    return { signal: link.signal, end: session.end, close };
  }

  /** Ends the watch of rights. Open streams are not ended. */
  close(): void {
    this.#stop.abort();
  }

  /** Ends the latest stream of the account with the most, unless it is this one. @throws StatusError TooManyStreams */
  #makeRoom(account: string): void {
    const error = tooMany(this.#open.size);
    let most = this.#accounts.get(account) ?? new Set<Session>();
    let greatest = account;
    for (const [other, sessions] of this.#accounts)
      if (sessions.size > most.size) [greatest, most] = [other, sessions];
    const latest = [...most].at(-1);
    if (greatest === account || !latest) throw error;
    this.#remove(greatest, latest);
    this.#ends.end(latest.end, error);
  }

  #add(account: string, session: Session): void {
    this.#open.add(session);
    const sessions = this.#accounts.get(account);
    if (sessions) sessions.add(session);
    else this.#accounts.set(account, new Set([session]));
  }

  #remove(account: string, session: Session): void {
    this.#open.delete(session);
    const sessions = this.#accounts.get(account);
    if (sessions?.delete(session) && sessions.size === 0) this.#accounts.delete(account);
  }

  #untilExpiry(session: Session): Timer | undefined {
    const { expiresAt } = session.identity;
    if (expiresAt === undefined) return undefined;
    const leftMs = Math.max(0, Date.parse(expiresAt) - this.#options.clock.now());
    const { clock } = this.#options;
    return clock.setTimer(() => this.#ends.end(session.end, expired()), leftMs, {
      background: true,
    });
  }

  /** Checks all open streams, now or after the check in progress: a right may change after its own check. */
  #recheckAll(): Promise<void> {
    this.#isChanged = true;
    return (this.#checking ??= this.#recheckUntilUnchanged());
  }

  /**
   * Checks the rights of all open streams, until they do not change meanwhile. No stream passes on a value until its
   * check has begun, and ended unless it takes more than a turn.
   */
  async #recheckUntilUnchanged(): Promise<void> {
    while (this.#isChanged) {
      this.#isChanged = false;
      const tokens = byToken(this.#open);
      if (tokens.length <= togetherMax && !this.#checks.present) {
        await this.#wait(tokens.map((ofToken) => this.#recheckToken(ofToken)));
        continue;
      }
      const checks: Promise<void>[] = [];
      this.#checks.present = this.#recheckInTurns(tokens, checks);
      await this.#checks.present;
      // In this turn: the values of streams that were checked before the change wait for the next check too.
      if (this.#isChanged) continue;
      this.#checks.present = undefined;
      await this.#wait(checks);
    }
    this.#checking = undefined;
  }

  /** Waits for checks for a limited time: one of an embedder may hang, and later changes must be checked too. */
  async #wait(checks: readonly Promise<void>[]): Promise<void> {
    const expiry = (over: AbortSignal): Promise<void> =>
      sleep(this.#options.clock, checkMs, over, { background: true });
    await within(Promise.all(checks), expiry);
  }

  /** Begins the checks of many tokens over several turns, and adds them to `checks`. */
  async #recheckInTurns(
    tokens: readonly (readonly Session[])[],
    checks: Promise<void>[],
  ): Promise<void> {
    const { clock } = this.#options;
    const slice = new TimeSlice(clock, { everyStep: true });
    for (let at = 0; at < tokens.length; at += togetherMax) {
      const some = tokens.slice(at, at + togetherMax).map((ofToken) => this.#recheckToken(ofToken));
      checks.push(...some);
      // A check of an embedder may take any time; the others do not wait for it.
      const turn = new Promise<void>((resolve) => clock.defer(resolve));
      await Promise.race([Promise.all(some), turn]);
      if (slice.due()) await slice.pause();
    }
  }

  async #recheckToken(sessions: readonly Session[]): Promise<void> {
    const { authenticator } = this.#options;
    const [first] = sessions;
    if (!first || !authenticator.recheck) return;
    try {
      const identity = await authenticator.recheck(first.identity);
      const nodes = nodesOf(identity);
      const byAccess = new Map<string, Session[]>();
      for (const session of sessions) {
        // Objects are filtered by the node at the start of the stream.
        if (nodesOf(session.identity) !== nodes) this.#ends.end(session.end, renarrowed());
        else addTo(byAccess, accessKey(session.access), session);
      }
      const checks = [...byAccess.values()].map((same) => this.#requireAccess(identity, same));
      await Promise.all(checks);
    } catch (error) {
      for (const { end } of sessions) this.#ends.end(end, error);
    }
  }

  /** Ends streams of one access unless the identity has it. */
  async #requireAccess(identity: Identity, sessions: readonly Session[]): Promise<void> {
    const access = sessions[0]?.access;
    if (!access) return;
    try {
      await this.#options.authorizer.require(identity, access);
    } catch (error) {
      for (const { end } of sessions) this.#ends.end(end, error);
    }
  }

  /** Watches rights once for all sessions, from the first one on. */
  #follow(): void {
    const { changes, clock, logger } = this.#options;
    if (!changes || this.#following) return;
    const { signal } = this.#stop;
    const follow = async (): Promise<void> => {
      while (!signal.aborted) {
        try {
          for await (const _ of changes(signal)) void this.#recheckAll();
        } catch (error) {
          logger.warn('watch of rights restarts', { error: messageOf(error) });
        }
        await sleep(clock, retryMs, signal, { background: true });
        await this.#recheckAll();
      }
    };
    this.#following = follow();
  }
}

/** Groups streams by their token: each token, and each access of it, is checked once for all of them. */
function byToken(sessions: Iterable<Session>): readonly (readonly Session[])[] {
  const groups = new Map<string | Identity, Session[]>();
  for (const session of sessions) {
    const { identity } = session;
    addTo(groups, identity.tokenUid ?? identity, session);
  }
  return [...groups.values()];
}

function addTo<K>(groups: Map<K, Session[]>, key: K, session: Session): void {
  const known = groups.get(key);
  if (known) known.push(session);
  else groups.set(key, [session]);
}

function accessKey(access: Access | undefined): string {
  return access ? JSON.stringify([access.resource, access.verb, access.namespace]) : '';
}
