import { constants } from 'node:os';
import type { Command } from 'commander';
import { hasCode, StatusError } from 'kedge/objects';
import type { ApiClient } from 'kedge/client';
import { instances } from '@kedge/controllers/kinds';
import type { JsonObject } from 'kedge/rpc';
import { printableLine } from '../../../terminal-text.js';
import { connect } from '../../connection/api.js';
import { shownExit } from '../../connection/exec-exit.js';
import { nameOf } from '../../connection/targets.js';
import { note } from '../../output/output.js';
import { withExamples } from '../../program/examples.js';
import { ExecInput } from './exec-input.js';

interface ExecOptions {
  readonly namespace: string;
  readonly stdin?: boolean;
  readonly tty?: boolean;
}

function terminalSize(): JsonObject {
  return { columns: process.stdout.columns || 80, rows: process.stdout.rows || 24 };
}

/** Signals that `kedge` passes on to the command. In a terminal, Ctrl-C is input of the command. */
const forwarded = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Sends signals, and by option standard input and window sizes. Returns the function that stops it. */
function forward(outgoing: ExecInput, options: ExecOptions): () => void {
  const { stdin, stdout } = process;
  const raw = options.tty === true && stdin.isTTY;
  const onResize = (): void => outgoing.push({ resize: terminalSize() });
  const onSignal = (signal: NodeJS.Signals): void => outgoing.signal(signal);
  if (raw) stdin.setRawMode(true);
  let stop: () => void = () => undefined;
  if (options.stdin) stop = outgoing.from(stdin);
  else outgoing.push({ stdinClosed: true });
  if (options.tty) stdout.on('resize', onResize);
  for (const name of forwarded) process.on(name, onSignal);
  return () => {
    if (raw) stdin.setRawMode(false);
    stop();
    stdin.pause();
    stdout.off('resize', onResize);
    for (const name of forwarded) process.off(name, onSignal);
    outgoing.end();
  };
}

/** The name of the signal for which a shell's exit code stands (128 + number); empty if it stands for none. */
function signalOf(code: number): string {
  return Object.entries(constants.signals).find(([, number]) => code === 128 + number)?.[0] ?? '';
}

/** The error with up to five instances of a service if the given name is that of a service; else the error itself. */
async function withInstances(
  client: ApiClient,
  { namespace, instance }: { readonly namespace: string; readonly instance: string },
  error: StatusError,
): Promise<StatusError> {
  // Without the right to list instances, the error itself is reported.
  const { items } = await client
    .resource(instances)
    .list({ namespace })
    .catch(() => ({ items: [] }));
  const names = items.filter(({ service }) => service === instance).map(({ name }) => name);
  if (names.length === 0) return error;
  const { code, reason, message, resource } = error;
  const text = `${message}; did you mean an instance of service ${instance}: ${names.slice(0, 5).join(', ')}?`;
  return new StatusError({ code, reason, message: text, ...(resource ? { resource } : {}) });
}

async function exec(word: string, command: readonly string[], options: ExecOptions): Promise<void> {
  const instance = nameOf(['Instance'], word);
  const client = await connect();
  const outgoing = new ExecInput();
  const { namespace } = options;
  const tty = options.tty === true;
  outgoing.push({
    start: { namespace, name: instance, command, tty, ...(tty ? { size: terminalSize() } : {}) },
  });
  const undo = forward(outgoing, options);
  const never = new AbortController();
  try {
    const answers = client.duplex('ExecService.Exec', outgoing.messages(), never.signal);
    const { code, signal } = await shownExit(answers, process);
    const ender = signal || signalOf(code);
    // The exit code alone does not show whether the signal ended the command.
    if (ender !== '') note(`The command ended with exit code ${code} (${printableLine(ender)})`);
    process.exitCode = code;
  } catch (error) {
    throw hasCode(error, 'NotFound')
      ? await withInstances(client, { namespace, instance }, error)
      : error;
  } finally {
    undo();
    client.close();
  }
}

/** Adds `kedge exec INSTANCE -- COMMAND`. */
export function addExec(program: Command): void {
  const added = program
    .command('exec')
    .argument('<instance>', 'NAME or instance/NAME')
    .argument('<command...>', 'after --')
    .usage('[options] <instance> -- <command...>')
    .description('run a command in a running instance; ends with its exit code')
    .option('-n, --namespace <name>', 'namespace', 'default')
    .option('-i, --stdin', 'pass standard input to the command')
    .option('-t, --tty', 'allocate a terminal for the command')
    .action((instance: string, command: string[], options: ExecOptions) =>
      exec(instance, command, options),
    );
  withExamples(
    added,
    ['kedge exec web-0 -- ls /data', 'List the content of a mounted volume'],
    ['kedge exec -it instance/web-0 -- sh', 'A shell inside'],
  );
}
