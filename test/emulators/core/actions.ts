/** An action of a provider, as plain data: work with an id that ends after the request for it was answered. */
export interface Action<Work> {
  readonly id: number;
  readonly work: Work;
  /** Keys of resources that no other action may change while this one runs. */
  readonly locks: readonly string[];
  readonly startedAt: number;
  /** Milliseconds of the clock; absent for an action that never ends by itself. */
  readonly endsAt?: number;
  readonly status: 'running' | 'done' | 'failed';
  readonly endedAt?: number;
  /** The reason of its failure, also before the action fails. */
  readonly failure?: ActionFailure;
}

/** The reason for which an action fails. */
export interface ActionFailure {
  readonly code: string;
  readonly message: string;
}

/** The scripted fault of an action. */
export interface ActionFate {
  /** The action never ends by itself. */
  readonly stuck?: boolean;
  /** With `stuck`: the effect happens at the usual time, but the record never ends. */
  readonly effectOfStuck?: boolean;
  /** The action ends with this failure and has no effect. */
  readonly fails?: ActionFailure;
}

/** A request for work. */
export interface Order<Work> {
  readonly work: Work;
  readonly locks: readonly string[];
  readonly takesMs: number;
  readonly fate?: ActionFate;
}

/** Performs the work of an action that ends. Returns a failure if there was no effect; undefined if it succeeded. */
export type Effect<Work> = (work: Work) => ActionFailure | undefined;

/** The content of an {@link ActionTable} as plain data, for a restart. */
export interface SavedActions<Work> {
  readonly nextId: number;
  readonly actions: readonly Action<Work>[];
  readonly late: readonly LateEffect<Work>[];
}

/** Pending work of an action whose record never ends. `at` is its time in milliseconds of the clock. */
export interface LateEffect<Work> {
  readonly at: number;
  readonly work: Work;
}

/** The actions of one provider. A state machine: the caller passes the time, and executes the work. */
export class ActionTable<Work> {
  readonly #byId = new Map<number, Action<Work>>();
  #late: readonly LateEffect<Work>[] = [];
  #nextId: number;

  constructor(firstId: number, saved?: SavedActions<Work>) {
    this.#nextId = saved?.nextId ?? firstId;
    for (const action of saved?.actions ?? []) this.#byId.set(action.id, action);
    this.#late = saved?.late ?? [];
  }

  save(): SavedActions<Work> {
    return { nextId: this.#nextId, actions: this.all, late: this.#late };
  }

  /** All actions that were not forgotten, the oldest first. */
  get all(): readonly Action<Work>[] {
    return [...this.#byId.values()];
  }

  get(id: number): Action<Work> | undefined {
    return this.#byId.get(id);
  }

  /** Returns the running action that holds a lock; undefined if there is none. */
  holder(lock: string): Action<Work> | undefined {
    return this.all.find(({ status, locks }) => status === 'running' && locks.includes(lock));
  }

  /** Starts work. {@link settle} executes it when it is called at the end of the action or later. */
  start({ work, locks, takesMs, fate = {} }: Order<Work>, now: number): Action<Work> {
    const id = this.#nextId;
    this.#nextId += 1;
    const { stuck = false, effectOfStuck = false, fails: failure } = fate;
    const started = { id, work, locks: stuck && effectOfStuck ? [] : locks, startedAt: now };
    const end = stuck ? {} : { endsAt: now + takesMs };
    const action: Action<Work> = {
      ...started,
      ...end,
      ...(failure ? { failure } : {}),
      status: 'running',
    };
    this.#byId.set(id, action);
    if (stuck && effectOfStuck) this.#late = [...this.#late, { at: now + takesMs, work }];
    return action;
  }

  /** The next time at which {@link settle} has work, in milliseconds of the clock; undefined if there is none. */
  get nextEnd(): number | undefined {
    const running = this.all.filter(({ status }) => status === 'running');
    const ends = running.flatMap(({ endsAt }) => (endsAt === undefined ? [] : [endsAt]));
    const all = [...ends, ...this.#late.map(({ at }) => at)];
    return all.length === 0 ? undefined : Math.min(...all);
  }

  /** Ends the due actions in the order of their ends, and executes their work unless they are scripted to fail. */
  settle(now: number, effect: Effect<Work>): void {
    for (;;) {
      const next = this.nextEnd;
      if (next === undefined || next > now) return;
      const late = this.#late.find(({ at }) => at === next);
      if (late) {
        this.#late = this.#late.filter((one) => one !== late);
        effect(late.work);
        continue;
      }
      const due = this.all.find(({ status, endsAt }) => status === 'running' && endsAt === next);
      if (due) this.#end(due, next, effect);
    }
  }

  /** Ends a running action as {@link settle} does, even if it is stuck or not due. No-op for other actions. */
  finish(id: number, now: number, effect: Effect<Work>): void {
    const action = this.#byId.get(id);
    if (action?.status === 'running') this.#end(action, now, effect);
  }

  /** Ends a running action as failed, without its effect. No-op for other actions. */
  fail(id: number, now: number, failure: ActionFailure): void {
    const action = this.#byId.get(id);
    if (action?.status === 'running')
      this.#byId.set(id, { ...action, status: 'failed', endedAt: now, failure });
  }

  /**
   * Removes the record, as if the provider had lost it. The work of a running action is then not executed, except that
   * of `effectOfStuck`.
   */
  forget(id: number): void {
    this.#byId.delete(id);
  }

  #end(action: Action<Work>, now: number, effect: Effect<Work>): void {
    const failure = action.failure ?? effect(action.work);
    const status = failure ? 'failed' : 'done';
    const ended: Action<Work> = { ...action, status, endedAt: now };
    this.#byId.set(action.id, failure ? { ...ended, failure } : ended);
  }
}
