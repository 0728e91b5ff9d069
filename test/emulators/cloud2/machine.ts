import type { ActionFailure, ActionFate } from '../core/actions.js';
import type { DeviceChange } from '../core/devices.js';
import type { Handled, Instance, Machine, Token } from '../core/machine.js';
import { GradualLimit, rateHeaders } from '../core/rate-limit.js';
import { bearerOf, pathParts, type Reply, type WireRequest } from '../core/wire.js';
import { Refusal, refusalReply, type RefusalName } from './refusals.js';
import { routes } from './routes.js';
import { type SavedState, State, type Work } from './state.js';

/** Options of the provider. */
export interface Cloud2Options {
  readonly instances: readonly Instance[];
  /** All tokens belong to one project. A token whose only scope is `read` can only read. */
  readonly tokens: readonly Token[];
  /** Duration of an action, milliseconds. */
  readonly takesMs: (type: Work['type']) => number;
  /** Maximum number of volumes of the project; default 100. */
  readonly volumesMax?: number;
  /** Maximum number of requests of the project; default 3600 an hour. */
  readonly requestsMax?: { readonly hour: number };
  /** Whether records of running actions have an error, as in the examples of the definition. Default: true. */
  readonly noise?: boolean;
  readonly saved?: SavedState;
  readonly startedAt: number;
}

const hourSeconds = 3_600;

/** The provider cloud2: a project with tokens and a rate limit, and the calls for volumes. */
export class Cloud2 implements Machine {
  readonly #state: State;
  readonly #tokens = new Map<string, Token>();
  readonly #rate: GradualLimit;
  readonly #hour: number;
  readonly #noise: boolean;

  constructor(options: Cloud2Options) {
    const { takesMs, volumesMax = 100, saved, startedAt, noise = true } = options;
    this.#state = new State({ takesMs, volumesMax, ...(saved ? { saved } : {}) });
    for (const token of options.tokens) this.addToken(token);
    for (const instance of options.instances)
      if (this.#serverOf(instance.name) === undefined) this.#state.addServer(instance, startedAt);
    this.#hour = options.requestsMax?.hour ?? hourSeconds;
    this.#rate = new GradualLimit(this.#hour, this.#hour / hourSeconds);
    this.#noise = noise;
  }

  handle(request: WireRequest, now: number, fate: ActionFate): Handled {
    const secret = bearerOf(request);
    const token = secret === undefined ? undefined : this.#tokens.get(secret);
    if (!token) return { reply: refusalReply('unauthorized'), startedAction: false };
    // All tokens of the project share its limit.
    const verdict = this.#rate.take('project', now);
    const headers = rateHeaders(verdict);
    const named = { token: token.name, startedAction: false };
    const refuse = (name: RefusalName, field?: string): Handled => ({
      ...named,
      reply: refusalReply(name, field, headers),
    });
    if (!verdict.allowed) return refuse('rateLimited');
    const readOnly = token.scopes !== undefined && !token.scopes.includes('write');
    if (readOnly && request.method !== 'GET') return refuse('readOnly');
    for (const route of routes) {
      const [method = '', pattern = ''] = route.on.split(' ');
      const parts = pathParts(pattern, request.path);
      if (method !== request.method || !parts) continue;
      try {
        const call = { state: this.#state, request, parts, now, fate, noise: this.#noise };
        const reply = route.answer(call);
        const all = { ...reply, headers: { ...reply.headers, ...headers } };
        return { ...named, reply: all, startedAction: route.acts ?? false };
      } catch (error) {
        if (error instanceof Refusal) return refuse(error.refusal, error.field);
        throw error;
      }
    }
    return { ...refuse('notFound'), unknownRoute: true };
  }

  settle(now: number): void {
    this.#state.settle(now);
  }

  get nextEnd(): number | undefined {
    return this.#state.actions.nextEnd;
  }

  takeChanges(): readonly DeviceChange[] {
    return this.#state.takeChanges();
  }

  inventory(): readonly string[] {
    const { volumes, servers } = this.#state;
    return [...volumes.values()].flatMap(({ id, name, server }) => [
      `volume ${id} ${name}`,
      ...(server === undefined ? [] : [`attached ${id} to ${servers.get(server)?.name}`]),
    ]);
  }

  get actions(): State['actions']['all'] {
    return this.#state.actions.all;
  }

  finishAction(id: number, now: number): void {
    this.#state.actions.finish(id, now, this.#state.effect);
  }

  failAction(id: number, now: number, failure: ActionFailure): void {
    this.#state.actions.fail(id, now, failure);
  }

  forgetAction(id: number): void {
    this.#state.actions.forget(id);
  }

  addInstance(instance: Instance): void {
    this.#state.addServer(instance, 0);
  }

  removeInstance(name: string): void {
    const server = this.#serverOf(name);
    if (server !== undefined) this.#state.removeServer(server);
  }

  addToken(token: Token): void {
    this.#tokens.set(token.secret, token);
  }

  revokeToken(name: string): void {
    for (const [secret, token] of this.#tokens)
      if (token.name === name) this.#tokens.delete(secret);
  }

  lagLists(reads: number): void {
    this.#state.lagLists(reads);
  }

  setFull(place: string, full: boolean): void {
    this.#state.setFull(place, full);
  }

  /** Returns the answer of a reached rate limit. It has Retry-After only if `retryAfterSeconds` is given. */
  rateLimited(retryAfterSeconds: number | undefined, now: number): Reply {
    const verdict = { allowed: false, limit: this.#hour, remaining: 0 };
    const after = retryAfterSeconds === undefined ? {} : { retryAfter: retryAfterSeconds };
    const resetAt = Math.ceil(now / 1000) + hourSeconds;
    const headers = rateHeaders({ ...verdict, resetAt, ...after });
    return refusalReply('rateLimited', undefined, headers);
  }

  serverError(status: number): Reply {
    return { ...refusalReply('serverError'), status };
  }

  save(): SavedState {
    return this.#state.save();
  }

  #serverOf(name: string): number | undefined {
    return [...this.#state.servers.values()].find((one) => one.name === name)?.id;
  }
}
