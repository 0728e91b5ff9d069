import type { Clock, Timer } from 'kedge';
import type { Action, ActionFailure } from './actions.js';
import type { Devices } from './devices.js';
import { type Fault, fateOf, FaultScript } from './faults.js';
import type { Instance, Later, Machine, Token } from './machine.js';
import type { LoggedRequest } from './requests.js';
import { actionOf, type Reply, type WireRequest } from './wire.js';

/** The emulator's reaction to a request. */
export type Delivery =
  | { readonly type: 'reply'; readonly reply: Reply; readonly later?: Later }
  /** The connection is reset without an answer. */
  | { readonly type: 'reset' }
  /** The connection stays open, and nothing is ever sent. */
  | { readonly type: 'silence' }
  /** The header and a part of the body are sent; the end of the body never is. */
  | { readonly type: 'endless'; readonly reply: Reply };

/** Parts of an emulator. */
export interface EmulatorParts {
  readonly machine: Machine;
  readonly clock: Clock;
  readonly devices: Devices;
  /** Returns the deviations of a request from the provider's definition. */
  readonly check: (request: WireRequest) => readonly string[];
  /** Called when the state may have changed: after requests, ends of actions, and new or removed instances. */
  readonly changed?: () => void;
}

const gatewayPage = '<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>';

function malformed(reply: Reply, form: 'html' | 'cut' | 'empty'): Reply {
  const html = { 'content-type': 'text/html' };
  if (form === 'html') return { status: 200, headers: html, body: gatewayPage };
  if (form === 'empty') return { ...reply, body: '' };
  // An answer without a body, such as a 204, has nothing to cut.
  return reply.body === ''
    ? { ...reply, status: 200, body: '{"volu' }
    : { ...reply, body: reply.body.slice(0, Math.ceil(reply.body.length / 2)) };
}

/**
 * A provider with a clock, disks, scripted faults and a log. Requests are executed in the order in which they arrive.
 * Each is answered once its changes of disks are made; only links in /dev/disk/by-id may appear later.
 */
export class Emulator {
  readonly #machine: Machine;
  readonly #clock: Clock;
  readonly #devices: Devices;
  readonly #check: EmulatorParts['check'];
  readonly #changed: () => void;
  readonly faults = new FaultScript();
  readonly #requests: LoggedRequest[] = [];
  #number = 0;
  #work: Promise<void> = Promise.resolve();
  #timer: Timer | undefined;
  #closed = false;

  constructor({ machine, clock, devices, check, changed = () => undefined }: EmulatorParts) {
    this.#machine = machine;
    this.#clock = clock;
    this.#devices = devices;
    this.#check = check;
    this.#changed = changed;
    this.#arm();
  }

  get clock(): Clock {
    return this.#clock;
  }

  /** Every request so far, including refused ones. */
  get requests(): readonly LoggedRequest[] {
    return this.#requests;
  }

  /** Deviations of requests from the provider's definition, each with its request; empty if there are none. */
  get violations(): readonly string[] {
    return this.#requests.flatMap(({ number, method, path, violations }) =>
      violations.map((text) => `request ${number}, ${method} ${path}: ${text}`),
    );
  }

  /** Ends due actions, and returns the existing resources of users at the provider and on its disks, sorted. */
  async inventory(): Promise<readonly string[]> {
    await this.settle();
    return [...this.#machine.inventory(), ...(await this.#devices.inventory())].sort();
  }

  /** The records of actions. */
  get actions(): readonly Action<unknown>[] {
    return this.#machine.actions;
  }

  /** Ends one running action, or all of them, with their effects. */
  async finishActions(id?: number): Promise<void> {
    const running = this.actions.filter(
      (one) => one.status === 'running' && (id === undefined || one.id === id),
    );
    for (const one of running) this.#machine.finishAction(one.id, this.#clock.now());
    await this.settle();
  }

  /** Ends all running actions with a failure, without their effects. */
  async failActions(failure: ActionFailure): Promise<void> {
    for (const { id, status } of this.actions)
      if (status === 'running') this.#machine.failAction(id, this.#clock.now(), failure);
    await this.settle();
  }

  /**
   * Removes the record of an action: polls no longer find it, and a running one has no effect, unless only its record
   * was stuck.
   */
  forgetAction(id: number): void {
    this.#machine.forgetAction(id);
  }

  addInstance(instance: Instance): void {
    this.#machine.addInstance(instance);
    this.#changed();
  }

  async removeInstance(name: string): Promise<void> {
    this.#machine.removeInstance(name, this.#clock.now());
    await this.settle();
  }

  addToken(token: Token): void {
    this.#machine.addToken(token);
  }

  revokeToken(name: string): void {
    this.#machine.revokeToken(name);
  }

  /** Makes each volume that is created later missing from this many lists. */
  lagLists(reads: number): void {
    this.#machine.lagLists(reads);
  }

  /** Makes a region or location full, so that it refuses new volumes, or not full again. */
  setFull(place: string, full: boolean): void {
    this.#machine.setFull(place, full);
  }

  /** Ends the due actions, and waits until their changes of disks are made. @throws the error of a change */
  async settle(): Promise<void> {
    this.#machine.settle(this.#clock.now());
    for (const change of this.#machine.takeChanges()) {
      const before = this.#work;
      this.#work = before.then(() => this.#devices.apply(change));
    }
    this.#arm();
    await this.#work;
    // A state that was saved before its disks exist would have volumes without data after a kill.
    this.#changed();
  }

  /** Executes a request and returns the reaction to it. Needs no socket. */
  async exchange(request: WireRequest): Promise<Delivery> {
    const now = this.#clock.now();
    this.#machine.settle(now);
    const fault = this.faults.take(request);
    const done = this.#perform(request, fault, now);
    await this.settle();
    if (fault?.type === 'delay') await this.#wait(fault.ms);
    if (done.type !== 'reply' || !done.later) return done;
    await this.#wait(done.later.at - now);
    await this.settle();
    const { body } = done.later.answer(this.#clock.now());
    return { type: 'reply', reply: { ...done.reply, body } };
  }

  /** Waits for changes of disks in progress, and ends no further action. The disks stay. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#timer?.cancel();
    await this.#work.catch(() => undefined);
    await this.#devices.close();
  }

  #wait(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.#clock.setTimer(resolve, ms);
    });
  }

  #perform(request: WireRequest, fault: Fault | undefined, now: number): Delivery {
    this.#number += 1;
    const number = this.#number;
    const log = (part: Partial<LoggedRequest>): void => {
      const { method, path, query, body } = request;
      const action = actionOf(request);
      this.#requests.push({
        ...{ number, at: now, method, path, query, body, requestId: requestIdOf(number) },
        ...(action === undefined ? {} : { action }),
        violations: this.#check(request),
        unknownRoute: false,
        ...(fault ? { fault: fault.type } : {}),
        ...part,
      });
    };
    const early = this.#before(fault, now);
    if (early) {
      log(early.type === 'reply' ? { status: early.reply.status } : {});
      return this.#named(early, number);
    }
    const handled = this.#machine.handle(request, now, fateOf(fault));
    const shown = this.#after(fault, handled.reply, handled.startedAction);
    const { later } = handled;
    const delivery = later && !fault && shown.type === 'reply' ? { ...shown, later } : shown;
    log({
      ...(delivery.type === 'reply' ? { status: delivery.reply.status } : {}),
      ...(handled.token === undefined ? {} : { token: handled.token }),
      unknownRoute: handled.unknownRoute ?? false,
    });
    return this.#named(delivery, number);
  }

  /** Adds the id of the request to its answer. */
  #named(delivery: Delivery, number: number): Delivery {
    if (delivery.type !== 'reply' && delivery.type !== 'endless') return delivery;
    const identify = this.#machine.identify?.bind(this.#machine) ?? withHeaders;
    return { ...delivery, reply: identify(delivery.reply, requestIdOf(number)) };
  }

  /** Returns the reaction of a fault that replaces the execution of the request; undefined for other faults. */
  #before(fault: Fault | undefined, now: number): Delivery | undefined {
    switch (fault?.type) {
      case 'before':
        return { type: 'reset' };
      case 'timeout':
        return { type: 'silence' };
      case 'rateLimited':
        return { type: 'reply', reply: this.#machine.rateLimited(fault.retryAfterSeconds, now) };
      case 'serverError':
        return { type: 'reply', reply: this.#machine.serverError(fault.status ?? 503) };
      case 'answer': {
        const headers = { 'content-type': 'application/json; charset=utf-8' };
        return { type: 'reply', reply: { status: fault.status, headers, body: fault.body } };
      }
      default:
        return undefined;
    }
  }

  /** Returns the reaction to an executed request, changed by the fault. */
  #after(fault: Fault | undefined, reply: Reply, startedAction: boolean): Delivery {
    switch (fault?.type) {
      case 'afterSuccess':
        return { type: 'reply', reply: this.#machine.serverError(500) };
      case 'lostReply':
        return { type: 'reset' };
      case 'malformed':
        return { type: 'reply', reply: malformed(reply, fault.form ?? 'html') };
      case 'neverFinish':
        return startedAction ? { type: 'reply', reply } : { type: 'endless', reply };
      default:
        return { type: 'reply', reply };
    }
  }

  /** Sets a timer for the next end of an action, so that disks also change without a request. */
  #arm(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    const next = this.#machine.nextEnd;
    if (this.#closed || next === undefined) return;
    const due = (): void => {
      // A failed change of a disk fails all later requests, which wait for it.
      this.settle().catch(() => undefined);
    };
    this.#timer = this.#clock.setTimer(due, next - this.#clock.now(), { background: true });
  }
}

function requestIdOf(number: number): string {
  return `emulated-${String(number).padStart(6, '0')}`;
}

/** Adds the headers with the request's id, as cloud1 and cloud2 do. */
function withHeaders(reply: Reply, id: string): Reply {
  const headers = { ...reply.headers, 'x-request-id': id, 'x-correlation-id': id };
  return { ...reply, headers };
}
