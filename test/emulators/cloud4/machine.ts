import type { Clock } from 'kedge';
import type { ActionFailure, ActionFate } from '../core/actions.js';
import type { DeviceChange } from '../core/devices.js';
import type { Handled, Instance, Machine, Token } from '../core/machine.js';
import { SlidingWindows } from '../core/rate-limit.js';
import { pathParts, type Reply, type WireRequest } from '../core/wire.js';
import { Accounts, allowedBy, type Caller } from './accounts.js';
import { finish, settle } from './effects.js';
import { Refusal, refusalReply } from './refusals.js';
import { keyOf, type Server, type Work } from './resources.js';
import type { Call, Route } from './route.js';
import { routes } from './routes.js';
import { limits, namePattern, zones } from './rules.js';
import { type SavedState, State } from './state.js';

/** Options of the provider. */
export interface Cloud4Options {
  /** Default: emulated-project. */
  readonly project?: string;
  /** The place of each is its zone. */
  readonly instances: readonly Instance[];
  /**
   * The service accounts: name is the email address, secret the public half of the key or an access token, and scopes
   * are IAM permissions, such as `compute.disks.create`; all permissions if absent.
   */
  readonly tokens: readonly Token[];
  /** Duration of an operation, milliseconds. */
  readonly takesMs: (type: Work['type']) => number;
  /** Quota of a region for each kind of disks, GiB; default 1048576. */
  readonly quotaGib?: number;
  /** Maximum number of disks of an instance without its boot disk; default 127. */
  readonly attachedMax?: number;
  /** Maximum number of requests of the project; default 1500 a minute. */
  readonly requestsMax?: { readonly minute: number };
  /** The largest page of a list; default 2, so that tests with more items read several pages. */
  readonly perPage?: number;
  /** The clock of the clients that sign tokens. */
  readonly signatureClock: Clock;
  readonly saved?: SavedState;
  readonly startedAt: number;
}

const root = '/compute/v1/projects';
const idPattern = `(?:${namePattern}|[1-9][0-9]{0,19})`;

/** The provider cloud4: a project with service accounts and a rate limit, and the calls for disks. */
export class Cloud4 implements Machine {
  readonly #state: State;
  readonly #rate: SlidingWindows;
  readonly #options: Cloud4Options;
  readonly accounts = new Accounts();
  readonly project: string;

  constructor(options: Cloud4Options) {
    const { project = 'emulated-project', takesMs, saved, startedAt } = options;
    const { quotaGib = 2 ** 20, attachedMax = limits.attachedMax } = options;
    this.#options = options;
    this.project = project;
    const given = { project, takesMs, quotaGib, attachedMax };
    this.#state = new State({ ...given, ...(saved ? { saved } : {}) });
    for (const account of options.tokens) this.accounts.add(account);
    for (const one of options.instances)
      if (!this.#state.servers.has(keyOf(one.place, one.name)))
        this.#state.addServer(one, startedAt);
    const max = options.requestsMax?.minute ?? 1_500;
    this.#rate = new SlidingWindows([{ max, windowMs: 60_000, saysRetryAfter: false }]);
  }

  handle(request: WireRequest, now: number, fate: ActionFate): Handled {
    const caller = this.accounts.callerOf(request, this.#options.signatureClock.now());
    if (typeof caller === 'string') return { reply: refusalReply(caller), startedAction: false };
    const named = { token: caller.name, startedAction: false };
    if (!allowedBy(caller.scopes, request.method))
      return { ...named, reply: refusalReply('scope') };
    if (!this.#rate.take('project', now).allowed)
      return { ...named, reply: refusalReply('rateLimited') };
    for (const route of routes) {
      const [method, pattern = ''] = route.on.split(' ');
      const found = pathParts(`${root}/*/${pattern}`, request.path);
      if (method !== request.method || !found) continue;
      const [project = '', ...parts] = found;
      try {
        this.#admit(route, { request, caller, project, parts });
        const { perPage: pageMax = 2 } = this.#options;
        const call: Call = { state: this.#state, request, parts, caller, now, fate, pageMax };
        const answer = route.answer(call);
        if ('at' in answer) return { ...named, reply: answer.answer(now), later: answer };
        return { ...named, reply: answer, startedAction: route.acts ?? false };
      } catch (error) {
        if (error instanceof Refusal)
          return { ...named, reply: refusalReply(error.refusal, error.message) };
        throw error;
      }
    }
    return { ...named, reply: refusalReply('noRoute'), unknownRoute: true };
  }

  settle(now: number): void {
    settle(this.#state, now);
  }

  get nextEnd(): number | undefined {
    return this.#state.actions.nextEnd;
  }

  takeChanges(): readonly DeviceChange[] {
    return this.#state.takeChanges();
  }

  inventory(): readonly string[] {
    const { disks, snapshots } = this.#state;
    const attached = [...disks.values()].flatMap(({ id, users }) =>
      users.map(({ instance }) => `attached ${id} to ${instance.split('/')[1]}`),
    );
    return [
      ...[...disks.values()].map(({ id, name }) => `volume ${id} ${name}`),
      ...[...snapshots.values()].map(({ id, name }) => `snapshot ${id} ${name}`),
      ...attached,
    ];
  }

  get actions(): State['actions']['all'] {
    return this.#state.actions.all;
  }

  finishAction(id: number, now: number): void {
    finish(this.#state, id, now);
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
    const server = this.instance(name);
    if (server) this.#state.removeServer(keyOf(server.place, server.name));
  }

  /** Returns the instance with a name. Only one zone has it in tests. */
  instance(name: string): Server | undefined {
    return [...this.#state.servers.values()].find((one) => one.name === name);
  }

  addToken(token: Token): void {
    this.accounts.add(token);
  }

  revokeToken(name: string): void {
    this.accounts.remove(name);
  }

  lagLists(reads: number): void {
    this.#state.lag = reads;
  }

  setFull(zone: string, full: boolean): void {
    if (full) this.#state.full.add(zone);
    else this.#state.full.delete(zone);
  }

  /** Returns the answer of a reached rate limit. It has Retry-After only if `retryAfterSeconds` is given. */
  rateLimited(retryAfterSeconds: number | undefined, _now: number): Reply {
    const after =
      retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) };
    return refusalReply('rateLimited', undefined, after);
  }

  serverError(status: number): Reply {
    return { ...refusalReply('serverError'), status };
  }

  save(): SavedState {
    return this.#state.save();
  }

  /** Checks project, zone and names of a path, and the permission of its route. @throws Refusal */
  #admit(
    { on, needs }: Route,
    given: {
      readonly request: WireRequest;
      readonly caller: Caller;
      readonly project: string;
      readonly parts: readonly string[];
    },
  ): void {
    const { request, caller, project, parts } = given;
    if (project !== this.project) throw new Refusal('noProject', project);
    // The last part of the path is a verb or a kind if the route has it too.
    const resource = request.path
      .slice('/compute/v1/'.length)
      .replace(/\/[^/]+$/, (end) => (on.endsWith(end) ? '' : end));
    if (needs !== undefined && !caller.may(needs)) throw new Refusal('forbidden', needs, resource);
    const [zone = '', ...names] = on.includes(' zones/*') ? parts : ['', ...parts];
    if (zone !== '' && !zones.includes(zone))
      throw new Refusal('invalid', 'zone', zone, 'Unknown zone.');
    const wrong = names.find((name) => !new RegExp(`^${idPattern}$`).test(name));
    if (wrong !== undefined) throw new Refusal('invalidParameter', wrong, idPattern);
  }
}
