import { isJsonObject, type JsonObject, textOf } from 'kedge/rpc';
import type { ExecExit, ExecOutput, ExecProcess, ExecSpec, TerminalSize } from '../agent/index.js';
import type { CommandTarget } from './start-command.js';
import { type AgentCall, agentLost } from './agent-call.js';
import type { ConnectedAgents, NodeRequest } from './connected-agents.js';

/** A request without its message, which the functions of each type add. */
export type RequestPlace = Omit<NodeRequest, 'opening' | 'type'>;

class RemoteCommand implements ExecProcess {
  readonly exited: Promise<ExecExit>;
  readonly #call: AgentCall;
  readonly #answers: AsyncIterator<JsonObject>;
  #exit: (exit: ExecExit) => void = () => undefined;
  #fail: (error: unknown) => void = () => undefined;

  constructor(call: AgentCall, answers: AsyncIterator<JsonObject>) {
    this.#call = call;
    this.#answers = answers;
    this.exited = new Promise((resolve, reject) => {
      this.#exit = resolve;
      this.#fail = reject;
    });
    // The reader of the output gets the error too.
    this.exited.catch(() => undefined);
  }

  get output(): AsyncIterable<ExecOutput> {
    return this.#output();
  }

  async *#output(): AsyncIterable<ExecOutput> {
    try {
      for (;;) {
        const next = await this.#answers.next();
        if (next.done === true) throw agentLost(this.#call.node);
        const { value } = next;
        for (const stream of ['stdout', 'stderr'] as const) {
          const data = textOf(value, stream);
          if (data !== '') yield { stream, data: Buffer.from(data, 'base64') };
        }
        if (!isJsonObject(value.exit)) continue;
        const { code } = value.exit;
        this.#exit({
          code: typeof code === 'number' ? code : 0,
          signal: textOf(value.exit, 'signal'),
        });
        return;
      }
    } catch (error) {
      this.#fail(error);
      throw error;
    }
  }

  write(data: Buffer): Promise<void> {
    return this.#call.send({ data: data.toString('base64') });
  }

  closeInput(): void {
    void this.#call.send({ dataEnd: true });
  }

  resize({ columns, rows }: TerminalSize): Promise<void> {
    return this.#call.send({ resize: { columns, rows } });
  }

  signal(name: NodeJS.Signals): Promise<void> {
    return this.#call.send({ signal: name });
  }

  kill(): void {
    this.#call.close();
  }
}

/**
 * Starts a command in a workload of another node.
 * @throws StatusError as the agent reported it, AgentNotConnected, AgentLost, AgentSilent, AgentBusy
 */
export async function remoteCommand(
  agents: ConnectedAgents,
  place: RequestPlace,
  target: CommandTarget,
  { command, terminal }: ExecSpec,
): Promise<ExecProcess> {
  const exec = {
    target: { ...target },
    command,
    ...(terminal && { tty: true, size: { ...terminal } }),
  };
  const call = await agents.open({ ...place, type: 'exec', opening: { exec } });
  const answers = call.answers()[Symbol.asyncIterator]();
  try {
    await answers.next();
  } catch (error) {
    call.close();
    throw error;
  }
  return new RemoteCommand(call, answers);
}
