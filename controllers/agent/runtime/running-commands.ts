import type { ExecProcess } from './exec.js';

/** Running commands inside workloads, by workload. */
export class RunningCommands {
  readonly #commands = new Map<string, Set<ExecProcess>>();

  /** Adds a command until it has ended. */
  add(id: string, command: ExecProcess): void {
    const running = this.#commands.get(id) ?? new Set();
    this.#commands.set(id, running.add(command));
    const ended = (): void => {
      running.delete(command);
      if (running.size === 0 && this.#commands.get(id) === running) this.#commands.delete(id);
    };
    command.exited.then(ended, ended);
  }

  /** Ends the commands of a workload, because they use its mounts. */
  kill(id: string): void {
    for (const command of this.#commands.get(id) ?? []) command.kill();
  }
}
