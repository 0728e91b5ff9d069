import type { Clock } from 'kedge';
import type { ActionFailure, ActionFate } from '../core/actions.js';
import type { DeviceChange } from '../core/devices.js';
import type { Handled, Instance, Machine, Token } from '../core/machine.js';
import { GradualLimit } from '../core/rate-limit.js';
import type { Reply, WireRequest } from '../core/wire.js';
import { type ApiAction, apiActions } from './calls.js';
import { Form } from './form.js';
import type { Work } from './records.js';
import { errorReply, Refusal, refusalReply, refusals } from './refusals.js';
import { keyIdOf, requireSigner } from './signature/authenticate.js';
import { type SavedState, State } from './state.js';
import { withRequestId } from './xml.js';

/** The permissions in the specification's list. */
export const specifiedPermissions: readonly string[] = [
  ...['CreateVolume', 'DeleteVolume', 'DescribeVolumes', 'AttachVolume', 'DetachVolume'],
  ...['ModifyVolume', 'CreateSnapshot', 'DeleteSnapshot', 'DescribeSnapshots'],
  ...['DescribeInstances', 'CreateTags'],
].map((action) => `ec2:${action}`);

/** Options of the provider. */
export interface Cloud3Options {
  /** Their place is an availability zone. */
  readonly instances: readonly Instance[];
  /** Access keys. Their scopes are permissions such as `ec2:CreateVolume` or `ec2:Describe*`. */
  readonly tokens: readonly Token[];
  /** Duration of an action, milliseconds. */
  readonly takesMs: (type: Work['type']) => number;
  /** Maximum number of volumes of the account; default 100. */
  readonly volumesMax?: number;
  /** Default: 1000. */
  readonly snapshotsMax?: number;
  /** The keys for encryption that exist. Default: every one. */
  readonly kmsKeys?: readonly string[];
  /** Maximum number of items of a page; default 2, so that a client that reads only one page fails. */
  readonly perPage?: number;
  /** Capacity (`minute`) and refill (`hour`) of the bucket of each action. Default: the provider's. */
  readonly requestsMax?: { readonly hour: number; readonly minute: number };
  /** The clock with which the times of signatures are compared: that of the clients. */
  readonly signatureClock: Clock;
  readonly saved?: SavedState;
  readonly startedAt: number;
}

/** The provider's buckets of requests of one account and region, for each action. */
const buckets = {
  reads: { max: 100, perSecond: 20 },
  readsAll: { max: 50, perSecond: 10 },
  writes: { max: 50, perSecond: 5 },
} as const;

/** The parameters of every action. */
const common = ['Action', 'Version', 'DryRun'];
const version = '2016-11-15';

/** The provider cloud3: access keys with permissions, limits per action, and the actions for volumes. */
export class Cloud3 implements Machine {
  readonly #options: Cloud3Options;
  readonly #state: State;
  readonly #tokens = new Map<string, Token>();
  readonly #limits: Readonly<Record<keyof typeof buckets, GradualLimit>>;

  constructor(options: Cloud3Options) {
    this.#options = options;
    const {
      takesMs,
      volumesMax = 100,
      snapshotsMax = 1_000,
      saved,
      requestsMax,
      kmsKeys,
    } = options;
    const state = { takesMs, volumesMax, snapshotsMax, ...(kmsKeys ? { kmsKeys } : {}) };
    this.#state = new State({ ...state, ...(saved ? { saved } : {}) });
    for (const token of options.tokens) this.addToken(token);
    for (const instance of options.instances)
      if (!this.#serverOf(instance.name)) this.#state.addServer(instance, options.startedAt);
    const limit = ({ max, perSecond }: { max: number; perSecond: number }): GradualLimit =>
      requestsMax
        ? new GradualLimit(requestsMax.minute, requestsMax.hour / 3_600)
        : new GradualLimit(max, perSecond);
    this.#limits = {
      reads: limit(buckets.reads),
      readsAll: limit(buckets.readsAll),
      writes: limit(buckets.writes),
    };
  }

  handle(request: WireRequest, now: number, fate: ActionFate): Handled {
    let token: Token | undefined;
    const named = (reply: Reply): Handled => ({
      ...{ reply: this.#dated(reply), startedAction: false },
      ...(token ? { token: token.name } : {}),
    });
    try {
      const signer = requireSigner(request, (id) => this.#tokens.get(id), this.#now());
      token = signer.token;
      const { region } = signer;
      const form = Form.of(request.body);
      const action = form.text('Action');
      if (action === undefined) throw new Refusal('noAction');
      const known = apiActions[action];
      if (!known || request.path !== '/' || request.method !== 'POST')
        return { ...named(refusalReply(new Refusal('badAction', action))), unknownRoute: true };
      this.#requireRate(known, form, `${region} ${action}`, now);
      requireForm(known, form);
      for (const permission of [action, ...(known.needs?.(form) ?? [])])
        requirePermission(token, permission);
      if (form.truth('DryRun')) throw new Refusal('dryRun');
      const { perPage = 2 } = this.#options;
      const ids = known.ids === undefined ? [] : form.texts(known.ids);
      const state = this.#state;
      const reply = known.answer({ state, action, form, ids, perPage, now, region, fate });
      return { ...named(reply), startedAction: known.acts ?? false };
    } catch (error) {
      if (error instanceof Refusal) return named(refusalReply(error));
      throw error;
    }
  }

  identify(reply: Reply, requestId: string): Reply {
    return withRequestId(reply, requestId);
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

  /** Root volumes are not in it, because no request of a user created them. */
  inventory(): readonly string[] {
    const { volumes, snapshots, servers } = this.#state;
    const nameOf = (tags: Readonly<Record<string, string>>): string => tags['Name'] ?? '-';
    return [
      ...[...volumes.values()]
        .filter(({ root }) => !root)
        .flatMap(({ id, tags, attachment }) => [
          `volume ${id} ${nameOf(tags)}`,
          ...(attachment ? [`attached ${id} to ${servers.get(attachment.instance)?.name}`] : []),
        ]),
      ...[...snapshots.values()].map(({ id, tags }) => `snapshot ${id} ${nameOf(tags)}`),
    ];
  }

  get actions(): State['actions']['all'] {
    return this.#state.actions.all;
  }

  finishAction(id: number, now: number): void {
    this.#state.actions.finish(id, now, this.#state.effect);
    this.#state.reap(now);
  }

  failAction(id: number, now: number, failure: ActionFailure): void {
    this.#state.actions.fail(id, now, failure);
    this.#state.reap(now);
  }

  forgetAction(id: number): void {
    this.#state.actions.forget(id);
  }

  addInstance(instance: Instance): void {
    this.#state.addServer(instance, 0);
  }

  removeInstance(name: string, now: number): void {
    const server = this.#serverOf(name);
    if (server) this.#state.terminate(server.id, now);
  }

  addToken(token: Token): void {
    this.#tokens.set(keyIdOf(token), token);
  }

  revokeToken(name: string): void {
    for (const [id, token] of this.#tokens) if (token.name === name) this.#tokens.delete(id);
  }

  lagLists(reads: number): void {
    this.#state.lag = reads;
  }

  setFull(place: string, full: boolean): void {
    if (full) this.#state.full.add(place);
    else this.#state.full.delete(place);
  }

  /** Returns the answer of a reached limit. It has Retry-After only if `retryAfterSeconds` is given. */
  rateLimited(retryAfterSeconds: number | undefined): Reply {
    const after =
      retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) };
    return this.#dated(refusalReply(new Refusal('rateLimited'), after));
  }

  serverError(status: number): Reply {
    const { code, message } = status === 503 ? refusals.unavailable : refusals.serverError;
    return this.#dated(errorReply(status, code, message));
  }

  save(): SavedState {
    return this.#state.save();
  }

  #serverOf(name: string): { readonly id: string } | undefined {
    return [...this.#state.servers.values()].find(
      (one) => one.name === name && one.state === 'running',
    );
  }

  #now(): number {
    return this.#options.signatureClock.now();
  }

  /** A client that is refused for its clock takes the provider's time from this header. */
  #dated(reply: Reply): Reply {
    const date = new Date(this.#now()).toUTCString();
    return { ...reply, headers: { ...reply.headers, date } };
  }

  #requireRate(action: ApiAction, form: Form, key: string, now: number): void {
    const narrowed = form.names.some((name) => /^(Filter|MaxResults|\w+Id\.)/.test(name));
    const bucket = action.reads ? (narrowed ? 'reads' : 'readsAll') : 'writes';
    if (!this.#limits[bucket].take(key, now).allowed) throw new Refusal('rateLimited');
  }
}

/** @throws Refusal for another version, an unknown parameter or one that is missing */
function requireForm(action: ApiAction, form: Form): void {
  const given = form.text('Version') ?? '';
  if (given !== version) throw new Refusal('badVersion', given);
  const known = [...common, ...action.parameters];
  for (const name of form.names)
    if (!known.includes(name.replaceAll(/\.\d+(?=\.|$)/g, '.N')))
      throw new Refusal('unknownParameter', name);
  for (const name of action.required ?? []) form.requiredText(name);
}

/** @throws Refusal if the token has no scope that permits the action */
function requirePermission({ name, scopes }: Token, action: string): void {
  const permission = `ec2:${action}`;
  const permits = (scope: string): boolean =>
    scope.endsWith('*') ? permission.startsWith(scope.slice(0, -1)) : scope === permission;
  if (scopes && !scopes.some(permits))
    throw new Refusal('unauthorized', name, permission, permission);
}
