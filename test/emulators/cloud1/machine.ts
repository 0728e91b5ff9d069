import type { Random } from 'kedge';
import type { ActionFailure, ActionFate } from '../core/actions.js';
import type { DeviceChange } from '../core/devices.js';
import type { Handled, Instance, Machine, Token } from '../core/machine.js';
import { rateHeaders, SlidingWindows } from '../core/rate-limit.js';
import { bearerOf, pathParts, type Reply, type WireRequest } from '../core/wire.js';
import { Refusal, refusalReply, type RefusalName } from './refusals.js';
import { routes } from './routes.js';
import { type SavedState, State, type Work } from './state.js';

/** The scopes in the five rows of the specification's table. */
export const specifiedScopes: readonly string[] = [
  'block_storage:create',
  'block_storage:read',
  'block_storage:delete',
  'block_storage_action:create',
  'actions:read',
  'droplet:read',
  'block_storage_snapshot:create',
  'block_storage_snapshot:read',
  'block_storage_snapshot:delete',
];

/** Options of the provider. */
export interface Cloud1Options {
  readonly random: Random;
  readonly instances: readonly Instance[];
  readonly tokens: readonly Token[];
  /** Duration of an action, milliseconds. */
  readonly takesMs: (type: Work['type']) => number;
  /** Maximum number of volumes of the account; default 100. */
  readonly volumesMax?: number;
  /** Maximum number of requests per token; default 5000 an hour and 250 a minute. */
  readonly requestsMax?: { readonly hour: number; readonly minute: number };
  readonly saved?: SavedState;
  readonly startedAt: number;
}

const hourMs = 3_600_000;
const minuteMs = 60_000;

/** The provider cloud1: tokens with scopes, rate limits per token, and the calls for volumes. */
export class Cloud1 implements Machine {
  readonly #state: State;
  readonly #tokens = new Map<string, Token>();
  readonly #rate: SlidingWindows;

  constructor(options: Cloud1Options) {
    const { random, takesMs, volumesMax = 100, saved, startedAt } = options;
    this.#state = new State({ random, takesMs, volumesMax, ...(saved ? { saved } : {}) });
    for (const token of options.tokens) this.addToken(token);
    for (const instance of options.instances)
      if (!this.#dropletOf(instance.name)) this.#state.addDroplet(instance, startedAt);
    const { hour, minute } = options.requestsMax ?? { hour: 5_000, minute: 250 };
    this.#rate = new SlidingWindows([
      { max: hour, windowMs: hourMs, saysRetryAfter: false },
      { max: minute, windowMs: minuteMs, saysRetryAfter: true },
    ]);
  }

  handle(request: WireRequest, now: number, fate: ActionFate): Handled {
    const secret = bearerOf(request);
    const token = secret === undefined ? undefined : this.#tokens.get(secret);
    if (!token) return { reply: refusalReply('unauthorized'), startedAction: false };
    const verdict = this.#rate.take(token.name, now);
    const headers = rateHeaders(verdict);
    const named = { token: token.name, startedAction: false };
    const refuse = (name: RefusalName): Handled => ({
      ...named,
      reply: refusalReply(name, headers),
    });
    if (!verdict.allowed) return refuse('tooManyRequests');
    const requireScope = (scope: string): void => {
      if (token.scopes && !token.scopes.includes(scope)) throw new Refusal('forbidden');
    };
    for (const route of routes) {
      const [method = '', pattern = ''] = route.on.split(' ');
      const parts = pathParts(pattern, request.path);
      if (method !== request.method || !parts) continue;
      try {
        for (const scope of route.scopes) requireScope(scope);
        const call = { state: this.#state, request, parts, now, fate, requireScope };
        const reply = route.answer(call);
        const all = { ...reply, headers: { ...reply.headers, ...headers } };
        return { ...named, reply: all, startedAction: route.acts ?? false };
      } catch (error) {
        if (error instanceof Refusal) return refuse(error.refusal);
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
    const { volumes, snapshots } = this.#state;
    return [
      ...[...volumes.values()].flatMap(({ id, name, droplet }) => [
        `volume ${id} ${name}`,
        ...(droplet === undefined ? [] : [`attached ${id} to ${this.#nameOf(droplet)}`]),
      ]),
      ...[...snapshots.values()].map(({ id, name }) => `snapshot ${id} ${name}`),
    ];
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
    this.#state.addDroplet(instance, 0);
  }

  removeInstance(name: string): void {
    const droplet = this.#dropletOf(name);
    if (droplet !== undefined) this.#state.removeDroplet(droplet);
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

  rateLimited(retryAfterSeconds: number | undefined, now: number): Reply {
    const verdict = { allowed: false, limit: 5_000, remaining: 0 };
    const after = retryAfterSeconds === undefined ? {} : { retryAfter: retryAfterSeconds };
    const resetAt = Math.ceil(now / 1000) + (retryAfterSeconds ?? 60);
    return refusalReply('tooManyRequests', rateHeaders({ ...verdict, resetAt, ...after }));
  }

  serverError(status: number): Reply {
    return { ...refusalReply('serverError'), status };
  }

  save(): SavedState {
    return this.#state.save();
  }

  #dropletOf(name: string): number | undefined {
    return [...this.#state.droplets.values()].find((one) => one.name === name)?.id;
  }

  #nameOf(id: number): string {
    return this.#state.droplets.get(id)?.name ?? String(id);
  }
}
