/** An action of a provider: work with an id that ends later than the request for it. Plain data. */
export interface Action<Work> {
  readonly id: number;
  readonly work: Work;
  /** Keys of resources that no other action may change meanwhile. */
  readonly locks: readonly string[];
  readonly startedAt: number;
  /** Absent: it never ends by itself. */
  readonly endsAt?: number;
  readonly status: 'running' | 'done' | 'failed';
  readonly endedAt?: number;
  /** Why it failed, or will fail. */
  readonly failure?: ActionFailure;
}

/** The reason for which an action fails. */
export interface ActionFailure {
  readonly code: string;
  readonly message: string;
}

/** What the script of faults does to an action that a request starts. */
export interface ActionFate {
  /** It never ends by itself. */
  readonly stuck?: boolean;
  /** With `stuck`: its effect happens at the usual time, only its record never ends. */
  readonly effectOfStuck?: boolean;
  /** It ends with this failure and has no effect. */
  readonly fails?: ActionFailure;
}

/** A request for work. */
export interface Order<Work> {
  readonly work: Work;
  readonly locks: readonly string[];
  readonly takesMs: number;
  readonly fate?: ActionFate;
}

/** Performs the work of an action that ends; a failure ends it without effect. */
export type Effect<Work> = (work: Work) => ActionFailure | undefined;

/** The form of a table, for a restart. */
export interface SavedActions<Work> {
  readonly nextId: number;
  readonly actions: readonly Action<Work>[];
  readonly late: readonly LateEffect<Work>[];
}

/** A stuck record whose effect is still to come. */
export interface LateEffect<Work> {
  readonly at: number;
  readonly work: Work;
}

/**
 * The actions of one provider, by id. A state machine without input and output: time is an argument, and the
 * effects of work are the caller's.
 */
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

  /** All that were not forgotten, by id. */
  get all(): readonly Action<Work>[] {
    return [...this.#byId.values()];
  }

  get(id: number): Action<Work> | undefined {
    return this.#byId.get(id);
  }

  /** The running action that holds a lock. */
  holder(lock: string): Action<Work> | undefined {
    return this.all.find(({ status, locks }) => status === 'running' && locks.includes(lock));
  }

  /** Starts work. Its effect comes when {@link settle} is called at its end or later. */
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

  /** Milliseconds of the clock at which something ends next. */
  get nextEnd(): number | undefined {
    const running = this.all.filter(({ status }) => status === 'running');
    const ends = running.flatMap(({ endsAt }) => (endsAt === undefined ? [] : [endsAt]));
    const all = [...ends, ...this.#late.map(({ at }) => at)];
    return all.length === 0 ? undefined : Math.min(...all);
  }

  /** Ends what is due, in the order of the ends. */
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

  /** Ends a running action now, with its effect; a stuck one too. */
  finish(id: number, now: number, effect: Effect<Work>): void {
    const action = this.#byId.get(id);
    if (action?.status === 'running') this.#end(action, now, effect);
  }

  /** Ends a running action now as failed, without its effect. */
  fail(id: number, now: number, failure: ActionFailure): void {
    const action = this.#byId.get(id);
    if (action?.status === 'running')
      this.#byId.set(id, { ...action, status: 'failed', endedAt: now, failure });
  }

  /** Removes the record, as if the provider had lost it. Work that runs ends without its effect. */
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
