import { type Clock, type Logger, messageOf } from 'kedge';
import type { ExecProcess, ExecSpec } from '../../runtime/exec.js';
import { RunningCommands } from '../../runtime/running-commands.js';
import { isEngineError } from '../engine/engine-error.js';
import type { EngineExec } from '../engine/engine-exec.js';
import { CommandRecords } from './command-records.js';
import { execInContainer } from './container-exec.js';
import { signalCommand } from './signal-command.js';

/** Dependencies of {@link ContainerCommands}. */
export interface ContainerCommandsOptions {
  readonly exec: EngineExec;
  /** Directory of the records of running commands. */
  readonly directory: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/** The commands inside containers. */
export class ContainerCommands {
  readonly #options: ContainerCommandsOptions;
  readonly #records: CommandRecords;
  readonly #running = new RunningCommands();

  constructor(options: ContainerCommandsOptions) {
    this.#options = options;
    this.#records = new CommandRecords(options.directory);
  }

  /** Starts a command in the container of a workload. @throws EngineError */
  async start(id: string, container: string, spec: ExecSpec): Promise<ExecProcess> {
    const { exec, clock, signal } = this.#options;
    const options = { exec, clock, container, signal, records: this.#records };
    const command = await execInContainer(options, spec);
    this.#running.add(id, command);
    return command;
  }

  /** Ends the commands of a workload, because they use its mounts. */
  kill(id: string): void {
    this.#running.kill(id);
  }

  /**
   * Kills the commands that an earlier process started, or that this one could not end: the engine keeps them when the
   * connection of their caller breaks, and nothing reads their output any more. Commands of others (`docker exec`) have
   * no record and continue. A command that could not be killed keeps its record for the next call.
   */
  async endLeft(): Promise<void> {
    const { logger } = this.#options;
    const warn = (error: unknown): void =>
      logger.warn('a command without a caller may still run', { error: messageOf(error) });
    try {
      for (const record of await this.#records.left())
        await signalCommand(this.#options, record, 'SIGKILL').then(
          () => this.#records.remove(record.id),
          // The engine forgets a command with its container.
          (error: unknown) =>
            isEngineError(error, 'NotFound') ? this.#records.remove(record.id) : warn(error),
        );
    } catch (error) {
      warn(error);
    }
  }
}
