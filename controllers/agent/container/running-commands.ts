import type { ExecProcess } from '../runtime/exec.js';

/** Commands that were started inside workloads and run, by workload. */
export class RunningCommands {
  readonly #commands = new Map<string, Set<ExecProcess>>();

  /** One runs until it has ended. */
  add(id: string, command: ExecProcess): void {
    const running = this.#commands.get(id) ?? new Set();
    this.#commands.set(id, running.add(command));
    const ended = (): void => {
      running.delete(command);
      if (running.size === 0 && this.#commands.get(id) === running) this.#commands.delete(id);
    };
    command.exited.then(ended, ended);
  }

  /** Ends those of a workload: they hold its mounts. */
  kill(id: string): void {
    for (const command of this.#commands.get(id) ?? []) command.kill();
  }
}
