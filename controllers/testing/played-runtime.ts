import type {
  Availability,
  LogLine,
  LogRequest,
  Runtime,
  StopProgress,
  WorkloadSpec,
  WorkloadState,
} from '../agent/index.js';

/** A fake runtime with configurable results. */
export class PlayedRuntime implements Runtime {
  readonly name = 'process';
  readonly states = new Map<string, WorkloadState>();
  /** Every start, by workload id. */
  readonly starts: string[] = [];
  /** The error of starts; undefined: they succeed. */
  startsFail: string | undefined;
  /** The error of removals; undefined: they succeed. */
  removalsFail: string | undefined;
  /** The reason why the runtime can't be used; undefined: it can. */
  unavailable: string | undefined;
  /** Whether starts hang. */
  startsHang = false;
  /** Whether workloads end with an error before the first probe. */
  endsAtOnce = false;
  /** Awaited by starts. */
  startsWait: Promise<void> = Promise.resolve();
  /** Number of probes. */
  looks = 0;
  /** Number of availability checks. */
  asks = 0;
  /** Whether workloads ignore stop requests. */
  deaf = false;
  /** Start time of workloads, milliseconds since the epoch. */
  now: () => number = () => 1;
  #listener: (id: string) => void = () => undefined;

  availability(): Promise<Availability> {
    this.asks += 1;
    const message = this.unavailable;
    return Promise.resolve(
      message === undefined ? { available: true } : { available: false, message },
    );
  }

  async start({ id }: WorkloadSpec): Promise<void> {
    this.starts.push(id);
    await this.startsWait;
    const run = this.starts.filter((other) => other === id).length;
    const message = this.startsFail;
    if (message !== undefined) this.states.set(id, { state: 'startFailed', run, message });
    else if (this.startsHang) this.states.set(id, { state: 'starting', run });
    else {
      this.states.set(id, { state: 'running', run, pid: 1, startedAt: this.now() });
      if (this.endsAtOnce) this.crash(id, this.now());
    }
  }

  observe(id: string): Promise<WorkloadState> {
    this.looks += 1;
    return Promise.resolve(this.states.get(id) ?? { state: 'absent' });
  }

  workloads(): Promise<readonly string[]> {
    return Promise.resolve([...this.states.keys()]);
  }

  requestStop(id: string, graceMs: number): Promise<StopProgress> {
    const runs = this.states.get(id)?.state === 'running';
    if (runs && this.deaf)
      return Promise.resolve({ type: 'stopping', checkInMs: graceMs, sent: 'SIGTERM' });
    this.states.delete(id);
    return Promise.resolve({ type: 'gone' });
  }

  /** Never resolves while workloads ignore stop requests. */
  stop(id: string): Promise<void> {
    if (this.deaf && this.states.get(id)?.state === 'running') return new Promise(() => undefined);
    this.states.delete(id);
    return Promise.resolve();
  }

  /** A running workload ends with an error and notifies the listener. */
  crash(id: string, atMs: number): void {
    const state = this.states.get(id);
    if (state?.state !== 'running') return;
    const { run, startedAt } = state;
    const end = { exitCode: 1, startedAt, exitedAt: atMs, requested: false };
    this.states.set(id, { state: 'exited', run, ...end });
    this.#listener(id);
  }

  /** The state of a workload changes, and the listener is notified. */
  become(id: string, state: WorkloadState): void {
    this.states.set(id, state);
    this.#listener(id);
  }

  /** A workload exits and notifies the listener. */
  end(id: string): void {
    this.states.delete(id);
    this.#listener(id);
  }

  remove(): Promise<void> {
    const message = this.removalsFail;
    return message === undefined ? Promise.resolve() : Promise.reject(new Error(message));
  }

  async *readLog(_id: string, _request: LogRequest): AsyncGenerator<LogLine> {
    // It prints nothing.
  }

  readPrevious(_id: string): Promise<AsyncIterable<LogLine> | undefined> {
    return Promise.resolve(undefined);
  }

  housekeep(): Promise<void> {
    return Promise.resolve();
  }

  onChange(listener: (id: string) => void): void {
    this.#listener = listener;
  }

  close(): void {
    this.#listener = () => undefined;
  }
}
