import type { ActionFate } from './actions.js';
import { pathParts, type WireRequest } from './wire.js';

/** What goes wrong with one request. */
export type Fault =
  /** The connection is reset before the provider did anything. */
  | { readonly type: 'before' }
  /** The provider did it, and answers with an error of its own. */
  | { readonly type: 'afterSuccess' }
  /** The provider does nothing and never answers. */
  | { readonly type: 'timeout' }
  /** The provider did it, and the connection is reset before the answer. */
  | { readonly type: 'lostReply' }
  /** Refused by the rate limit; without seconds there is no Retry-After. */
  | { readonly type: 'rateLimited'; readonly retryAfterSeconds?: number }
  /** The provider does nothing and answers 5xx; default 503. */
  | { readonly type: 'serverError'; readonly status?: number }
  /** The provider did it, and the answer is the page of a gateway, is cut off, or is empty. */
  | { readonly type: 'malformed'; readonly form?: 'html' | 'cut' | 'empty' }
  /** An action that the request starts never ends; the body of any other answer never ends. */
  | { readonly type: 'neverFinish'; readonly effect?: boolean }
  /** The action that the request starts ends with this failure. */
  | { readonly type: 'actionFails'; readonly code: string; readonly message: string }
  /** The provider does it at once and answers later. */
  | { readonly type: 'delay'; readonly ms: number }
  /** Any other answer; the provider does nothing. */
  | { readonly type: 'answer'; readonly status: number; readonly body: string };

/** The eight ways in which every call of a life cycle is made to fail once. */
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

/** A method and a path in which a star is one segment, such as `GET /v2/actions/*`; or a function of the request. */
export type RequestMatcher = string | ((request: WireRequest) => boolean);

/** One line of the script. */
export interface FaultLine {
  readonly on: RequestMatcher;
  /** The first matching request that fails; default 1. */
  readonly nth?: number;
  /** The number of requests that fail from there on; default 1. */
  readonly times?: number;
  readonly fault: Fault;
}

function fits(matcher: RequestMatcher, request: WireRequest): boolean {
  if (typeof matcher === 'function') return matcher(request);
  const [method, pattern] = matcher.split(' ');
  if (method === undefined || pattern === undefined)
    throw new TypeError(`"${matcher}" is not a method and a path`);
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

  /** Lines that have not yet failed as often as they should. */
  get left(): number {
    const open = this.#lines.filter(
      ({ line: { nth = 1, times = 1 }, seen }) => seen.count < nth + times - 1,
    );
    return open.length;
  }

  /** Counts the request for every line, and returns the fault of the first that is due. */
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

/** What a fault does to an action that its request starts. */
export function fateOf(fault: Fault | undefined): ActionFate {
  if (fault?.type === 'neverFinish')
    return { stuck: true, ...(fault.effect === undefined ? {} : { effectOfStuck: fault.effect }) };
  if (fault?.type === 'actionFails') return { fails: { code: fault.code, message: fault.message } };
  return {};
}
