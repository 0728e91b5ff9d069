import type { JsonObject } from 'kedge/rpc';
import type { TerminalSize } from '../../runtime/exec.js';
import { numberOf, objectOf, requireText } from './answer-fields.js';
import type { EngineApi } from './engine-api.js';
import type { EngineConnection } from './engine-transport.js';

/** A command that is or was running inside a container. */
export interface ExecInspection {
  readonly running: boolean;
  /** Undefined until the command has ended. */
  readonly exitCode: number | undefined;
  /** Pid in the engine's pid namespace; 0 before the command runs. */
  readonly pid: number;
}

/** `/exec` of the engine. Failed calls reject with {@link EngineError}. */
export class EngineExec {
  readonly #api: EngineApi;

  constructor(api: EngineApi) {
    this.#api = api;
  }

  /**
   * Prepares a command and returns its id.
   * @param config in the form of the Engine API
   * @throws EngineError Conflict unless the container is running
   */
  async create(container: string, config: JsonObject, signal: AbortSignal): Promise<string> {
    const path = `/containers/${encodeURIComponent(container)}/exec`;
    const answer = await this.#api.call({ method: 'POST', path, body: config, signal });
    return requireText(objectOf(answer, path), 'Id');
  }

  /** Starts a command. The connection carries its input and output: frames, or plain bytes with a terminal. */
  start(id: string, tty: boolean, signal: AbortSignal): Promise<EngineConnection> {
    const body = { Detach: false, Tty: tty };
    return this.#api.upgrade({
      method: 'POST',
      path: `/exec/${encodeURIComponent(id)}/start`,
      body,
      signal,
    });
  }

  /** Changes the size of the command's terminal. */
  async resize(id: string, { columns, rows }: TerminalSize, signal: AbortSignal): Promise<void> {
    const query = { w: columns, h: rows };
    await this.#api.call({
      method: 'POST',
      path: `/exec/${encodeURIComponent(id)}/resize`,
      query,
      signal,
    });
  }

  /** The state of a command. @throws EngineError NotFound if it does not exist */
  async inspect(id: string, signal: AbortSignal): Promise<ExecInspection> {
    const path = `/exec/${encodeURIComponent(id)}/json`;
    const answer = objectOf(await this.#api.call({ method: 'GET', path, signal }), path);
    const running = answer.Running === true;
    return {
      running,
      exitCode: typeof answer.ExitCode === 'number' && !running ? answer.ExitCode : undefined,
      pid: numberOf(answer, 'Pid'),
    };
  }
}
