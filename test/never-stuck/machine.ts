import type {
  Availability,
  Runtime,
  StopProgress,
  WorkloadSpec,
  WorkloadState,
} from '@kedge/controllers';

/** The failure of a runtime. */
export type RuntimeFault = 'unavailable' | 'startsFail' | 'startsHang' | 'deaf';

/** The end of a workload that exits at its start. */
export type Ending = { readonly exitCode: number };

/** Environment variable with the owner of a workload. Faults are set per owner. */
export const ownerVariable = 'OWNER';

interface Workload {
  readonly owner: string;
  state: WorkloadState;
}

/** Workloads of one machine: they survive the agents that start them. Faults are configured. */
export class Machine {
  /** Faults by owner. `unavailable` of any owner fails all, because it affects the runtime. */
  readonly faults = new Map<string, RuntimeFault>();
  /** Workloads that end immediately, by owner. */
  readonly endings = new Map<string, Ending>();
  readonly #workloads = new Map<string, Workload>();
  #runs = 0;

  /** The runtime as seen by an agent. */
  runtime(now: () => number): Runtime {
    return {
      name: 'container',
      availability: () => Promise.resolve(this.#availability()),
      start: ({ id, env }: WorkloadSpec) => {
        const owner = env[ownerVariable] ?? '';
        this.#workloads.set(id, { owner, state: this.#started(owner, now()) });
        return Promise.resolve();
      },
      observe: (id) => {
        const workload = this.#workloads.get(id);
        if (!workload) return Promise.resolve({ state: 'absent' });
        const { owner, state } = workload;
        if (state.state === 'starting' && this.faults.get(owner) !== 'startsHang')
          workload.state = this.#started(owner, now());
        return Promise.resolve(workload.state);
      },
      workloads: () => Promise.resolve([...this.#workloads.keys()]),
      requestStop: (id, graceMs) => Promise.resolve(this.#stop(id, graceMs)),
      stop: (id) => Promise.resolve(void this.#workloads.delete(id)),
      remove: (id) => Promise.resolve(void this.#workloads.delete(id)),
      readLog: () => (async function* () {})(),
      readPrevious: () => Promise.resolve(undefined),
      housekeep: () => Promise.resolve(),
      onChange: () => undefined,
      close: () => undefined,
    };
  }

  #availability(): Availability {
    return [...this.faults.values()].includes('unavailable')
      ? { available: false, message: 'the runtime does not answer; start it' }
      : { available: true };
  }

  #started(owner: string, now: number): WorkloadState {
    const run = (this.#runs += 1);
    const fault = this.faults.get(owner);
    if (fault === 'startsFail')
      return { state: 'startFailed', run, message: 'the image can not be run' };
    if (fault === 'startsHang') return { state: 'starting', run };
    const ending = this.endings.get(owner);
    if (!ending) return { state: 'running', run, pid: run, startedAt: now };
    const { exitCode } = ending;
    return { state: 'exited', run, exitCode, startedAt: now, exitedAt: now, requested: false };
  }

  #stop(id: string, graceMs: number): StopProgress {
    const workload = this.#workloads.get(id);
    const runs = workload?.state.state === 'running';
    if (runs && this.faults.get(workload.owner) === 'deaf')
      return { type: 'stopping', checkInMs: graceMs, sent: 'SIGTERM' };
    this.#workloads.delete(id);
    return { type: 'gone' };
  }
}
