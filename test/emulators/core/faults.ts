import type { ActionFate } from './actions.js';
import { actionOf, pathParts, type WireRequest } from './wire.js';

/** The fault of one request. */
export type Fault =
  /** The connection is reset before the provider executes the request. */
  | { readonly type: 'before' }
  /** The provider executes the request, and answers with status 500. */
  | { readonly type: 'afterSuccess' }
  /** The provider does not execute the request and never answers. */
  | { readonly type: 'timeout' }
  /** The provider executes the request, and the connection is reset before the answer. */
  | { readonly type: 'lostReply' }
  /** The provider refuses the request by its rate limit; without Retry-After if `retryAfterSeconds` is absent. */
  | { readonly type: 'rateLimited'; readonly retryAfterSeconds?: number }
  /** The provider does not execute the request and answers with this status; default 503. */
  | { readonly type: 'serverError'; readonly status?: number }
  /** The provider executes the request; the answer is a gateway's HTML page (the default), cut off, or empty. */
  | { readonly type: 'malformed'; readonly form?: 'html' | 'cut' | 'empty' }
  /**
   * The action that the request starts never ends; with `effect`, only its record never ends. For a request that starts
   * no action, the body of the answer never ends.
   */
  | { readonly type: 'neverFinish'; readonly effect?: boolean }
  /** The action that the request starts ends with this failure. */
  | { readonly type: 'actionFails'; readonly code: string; readonly message: string }
  /** The provider executes the request at once and answers `ms` later. */
  | { readonly type: 'delay'; readonly ms: number }
  /** The provider does not execute the request and gives this answer. */
  | { readonly type: 'answer'; readonly status: number; readonly body: string };

/** The faults of each call of a life cycle in the tests. */
export const eightFaults = {
  before: { type: 'before' },
  'after success': { type: 'afterSuccess' },
  timeout: { type: 'timeout' },
  'lost reply': { type: 'lostReply' },
  429: { type: 'rateLimited', retryAfterSeconds: 1 },
  '5xx': { type: 'serverError' },
  'malformed body': { type: 'malformed' },
  'never finishing': { type: 'neverFinish' },
} as const satisfies Readonly<Record<string, Fault>>;

/**
 * A method and a path, such as `GET /v2/actions/*`, in which a star matches one segment; the action of a form, such as
 * `CreateVolume`; or a function.
 */
export type RequestMatcher = string | ((request: WireRequest) => boolean);

/** One line of the script. */
export interface FaultLine {
  readonly on: RequestMatcher;
  /** Number of the first matching request that fails, from 1; default 1. */
  readonly nth?: number;
  /** Number of consecutive matching requests that fail; default 1. */
  readonly times?: number;
  readonly fault: Fault;
}

function fits(matcher: RequestMatcher, request: WireRequest): boolean {
  if (typeof matcher === 'function') return matcher(request);
  if (/^[A-Z][A-Za-z]+$/.test(matcher)) return matcher === actionOf(request);
  const [method, pattern] = matcher.split(' ');
  if (method === undefined || pattern === undefined)
    throw new TypeError(`"${matcher}" is not a method and a path, nor an action`);
  return method === request.method && pathParts(pattern, request.path) !== undefined;
}

/** The scripted faults of an emulator. Each line counts its own matches; the first line that is due decides. */
export class FaultScript {
  #lines: readonly { readonly line: FaultLine; readonly seen: { count: number } }[] = [];

  add(line: FaultLine): void {
    this.#lines = [...this.#lines, { line, seen: { count: 0 } }];
  }

  clear(): void {
    this.#lines = [];
  }

  /** Number of lines whose faults have not all happened yet. */
  get left(): number {
    const open = this.#lines.filter(
      ({ line: { nth = 1, times = 1 }, seen }) => seen.count < nth + times - 1,
    );
    return open.length;
  }

  /**
   * Counts the request for every matching line. Returns the fault of the first line that is due, or undefined. @throws
   * TypeError if a matcher has a wrong form
   */
  take(request: WireRequest): Fault | undefined {
    let due: Fault | undefined;
    for (const { line, seen } of this.#lines) {
      if (!fits(line.on, request)) continue;
      seen.count += 1;
      const { nth = 1, times = 1 } = line;
      if (seen.count >= nth && seen.count < nth + times) due ??= line.fault;
    }
    return due;
  }
}

/** Returns the part of a request's fault that applies to the action that the request starts. */
export function fateOf(fault: Fault | undefined): ActionFate {
  if (fault?.type === 'neverFinish')
    return { stuck: true, ...(fault.effect === undefined ? {} : { effectOfStuck: fault.effect }) };
  if (fault?.type === 'actionFails') return { fails: { code: fault.code, message: fault.message } };
  return {};
}
