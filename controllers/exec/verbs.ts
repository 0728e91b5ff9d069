import { constants } from 'node:os';
import { invalid, notFound, StatusError } from 'kedge';
import { isJsonObject, type JsonObject, textOf } from 'kedge/rpc';
import type { ApiParts, CallContext, CustomMethod } from 'kedge/server';
import type { ExecProcess, ExecSpec, Runtime, TerminalSize } from '../agent/index.js';
import { CommandInput } from '../agent-requests/command-input.js';
import type { ConnectedAgents } from '../agent-requests/connected-agents.js';
import { remoteCommand } from '../agent-requests/remote-command.js';
import { instances } from '../instance/kind.js';
import { otherNodeOf } from '../node/other-node.js';
import { containerOf, startCommand, targetOf } from '../agent-requests/start-command.js';

/** Options of the exec methods. */
export interface ExecVerbOptions {
  readonly runtimes: readonly Runtime[];
  /** The node of the runtimes. Absent: they are those of all nodes. */
  readonly node?: string;
  readonly agents: ConnectedAgents;
}

const defaultSize: TerminalSize = { columns: 80, rows: 24 };
const sizeMax = 10_000;
const inputBytesMax = 1_048_576;
const commandBytesMax = 131_072;
/** Maximum number of concurrent commands. Each uses one to three processes of this node. */
const commandsMax = 128;

function refused(field: string, description: string): StatusError {
  return invalid([{ field, description }]);
}

function sizeOf(value: unknown, field: string): TerminalSize {
  if (!isJsonObject(value)) return defaultSize;
  const { columns = defaultSize.columns, rows = defaultSize.rows } = value;
  for (const [name, number] of Object.entries({ columns, rows }))
    if (typeof number !== 'number' || number < 1 || number > sizeMax)
      throw refused(`${field}.${name}`, `${String(number)} must be from 1 to ${sizeMax}`);
  return { columns: columns as number, rows: rows as number };
}

function specOf(request: JsonObject): ExecSpec {
  const command = (Array.isArray(request.command) ? request.command : []) as readonly unknown[];
  if (command.length === 0) throw refused('command', 'is required');
  for (const [index, word] of command.entries())
    if (typeof word !== 'string' || word.includes('\0'))
      throw refused(`command[${index}]`, 'must be text without NUL characters');
  if (JSON.stringify(command).length > commandBytesMax)
    throw refused('command', `is longer than ${commandBytesMax} bytes`);
  return {
    command: command as readonly string[],
    terminal: request.tty === true ? sizeOf(request.size, 'size') : undefined,
  };
}

/**
 * Number of running commands, shared by both methods. An account may have as many as remain free after it: a single one
 * has at most half of all, and each further one at most half of the rest.
 */
class Running {
  readonly #accounts = new Map<string, number>();
  #count = 0;

  /** Reserves a slot, and returns its release. @throws StatusError ResourceExhausted */
  enter({ uid, subject }: CallContext['identity']): () => void {
    const account = uid ?? subject;
    const own = this.#accounts.get(account) ?? 0;
    if (own >= commandsMax - this.#count) throw tooMany(own, this.#count);
    this.#add(account, 1);
    return () => this.#add(account, -1);
  }

  #add(account: string, change: 1 | -1): void {
    this.#count += change;
    const own = (this.#accounts.get(account) ?? 0) + change;
    if (own > 0) this.#accounts.set(account, own);
    else this.#accounts.delete(account);
  }
}

function tooMany(own: number, all: number): StatusError {
  return new StatusError({
    code: 'ResourceExhausted',
    reason: 'TooManyCommands',
    message: `${own} commands of this account are running, and ${all - own} of others; the remaining ${commandsMax - all} of ${commandsMax} are reserved for other accounts; end some, or retry later`,
    retryAfterMs: 5_000,
  });
}

async function start(
  parts: ApiParts,
  options: ExecVerbOptions,
  { signal }: Pick<CallContext, 'signal'>,
  request: JsonObject,
): Promise<ExecProcess> {
  const spec = specOf(request);
  const namespace = textOf(request, 'namespace') || 'default';
  const name = textOf(request, 'name');
  const instance = await parts.store.get(instances, { namespace, name });
  if (!instance) throw notFound({ kind: 'Instance', namespace, name });
  const node = otherNodeOf(instance, options.node);
  const { runtimes } = options;
  const { clock } = parts;
  if (node === undefined) {
    const here = options.node ?? instance.node ?? '';
    return startCommand({ node: here, runtimes, clock }, targetOf(instance), spec);
  }
  const container = containerOf(instance);
  const remedy =
    container === undefined
      ? 'run the command yourself'
      : `type: docker exec -it ${container} COMMAND`;
  const what = `the processes of "${namespace}/${name}"`;
  const place = { node, what, remedy, signal };
  return remoteCommand(options.agents, place, targetOf(instance), spec);
}

function stopping(): StatusError {
  return new StatusError({
    code: 'Unavailable',
    reason: 'Stopping',
    message:
      'kedged is being stopped, and the command was ended; run it again after the start of kedged',
  });
}

/** Output as it arrives, then the exit. The command ends with its caller. */
async function* answers(command: ExecProcess, signal: AbortSignal): AsyncIterable<JsonObject> {
  const stop = (): void => command.kill();
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  try {
    for await (const { stream, data } of command.output)
      yield { [stream]: data.toString('base64') };
    const { code, signal: ended } = await command.exited;
    // The command was killed because the caller left or the daemon stops. Only the latter caller receives this error.
    if (signal.aborted) throw stopping();
    yield { exit: { code, signal: ended } };
  } finally {
    signal.removeEventListener('abort', stop);
    command.kill();
  }
}

async function feed(command: ExecProcess, input: CommandInput, message: JsonObject): Promise<void> {
  if ('start' in message) throw refused('start', 'is permitted only as the first message');
  const stdin = textOf(message, 'stdin');
  if (stdin !== '') {
    const data = Buffer.from(stdin, 'base64');
    if (data.length > inputBytesMax)
      throw refused('stdin', `is ${data.length} bytes; a message has at most ${inputBytesMax}`);
    await input.write(data);
  }
  if (message.stdinClosed === true) input.close();
  if (isJsonObject(message.resize)) await command.resize(sizeOf(message.resize, 'resize'));
  const name = textOf(message, 'signal');
  if (name === '') return;
  if (!(name in constants.signals))
    throw refused('signal', `${JSON.stringify(name)} is not a signal; use a name such as SIGINT`);
  await command.signal(name as NodeJS.Signals);
}

async function* interactive(
  parts: ApiParts,
  options: ExecVerbOptions,
  { signal }: CallContext,
  request: JsonObject,
  further: AsyncIterable<JsonObject>,
): AsyncIterable<JsonObject> {
  const command = await start(parts, options, { signal }, request);
  const input = new CommandInput(command);
  let failure: Error | undefined;
  const feeding = (async () => {
    try {
      for await (const message of further) await feed(command, input, message);
      input.close();
    } catch (error) {
      // A disconnected caller aborts the signal; an invalid message ends the command.
      if (!signal.aborted) failure = StatusError.from(error);
      command.kill();
    }
  })();
  for await (const answer of answers(command, signal)) {
    if (failure !== undefined) break;
    yield answer;
  }
  if (failure !== undefined) throw failure;
  void feeding;
}

async function* plain(
  parts: ApiParts,
  options: ExecVerbOptions,
  { signal }: CallContext,
  request: JsonObject,
): AsyncIterable<JsonObject> {
  const command = await start(parts, options, { signal }, request);
  command.closeInput();
  yield* answers(command, signal);
}

async function* counted<T>(
  running: Running,
  { identity }: CallContext,
  source: () => AsyncIterable<T>,
): AsyncIterable<T> {
  const leave = running.enter(identity);
  try {
    yield* source();
  } finally {
    leave();
  }
}

/** `ExecService`: commands inside running workloads. */
export function execVerbs(parts: ApiParts, options: ExecVerbOptions): readonly CustomMethod[] {
  const access = {
    type: 'policy',
    resource: 'exec',
    verb: 'exec',
    scope: 'Namespaced',
  } as const;
  const running = new Running();
  return [
    {
      id: 'ExecService.Exec',
      access,
      handler: {
        type: 'bidi',
        // A request without `start` is authorized like any other, before its fields are checked.
        opening: (first) => (isJsonObject(first.start) ? first.start : {}),
        call: (context, request, further) =>
          counted(running, context, () => interactive(parts, options, context, request, further)),
      },
    },
    {
      id: 'ExecService.Run',
      access,
      handler: {
        type: 'stream',
        call: (context, request) =>
          counted(running, context, () => plain(parts, options, context, request)),
      },
    },
  ];
}
