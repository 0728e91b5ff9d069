import { StatusError } from 'kedge/objects';
import { isJsonObject, type JsonObject, textOf } from 'kedge/rpc';

/** The exit of a command. */
export interface CommandExit {
  readonly code: number;
  /** The signal that ended it, or the empty text. */
  readonly signal: string;
}

/** The outputs of a command. */
export interface OutputStreams {
  readonly stdout: { write(data: Buffer): unknown };
  readonly stderr: { write(data: Buffer): unknown };
}

/**
 * Prints the output of a command and returns its exit.
 * @throws StatusError if the answers end before the exit, since the result is unknown
 */
export async function shownExit(
  answers: AsyncIterable<JsonObject>,
  { stdout, stderr }: OutputStreams,
): Promise<CommandExit> {
  let exit: CommandExit | undefined;
  for await (const answer of answers) {
    stdout.write(Buffer.from(textOf(answer, 'stdout'), 'base64'));
    stderr.write(Buffer.from(textOf(answer, 'stderr'), 'base64'));
    if (isJsonObject(answer.exit))
      exit = { code: Number(answer.exit.code ?? 0), signal: textOf(answer.exit, 'signal') };
  }
  if (exit) return exit;
  throw new StatusError({
    code: 'Unavailable',
    reason: 'ExitUnknown',
    message:
      'the daemon closed the connection before the command ended: the exit code of the command is unknown; check its effects before you repeat it',
  });
}
