import { Readable } from 'node:stream';
import { type Clock, failedPrecondition, invalid, StatusError } from 'kedge';
import { isJsonObject, type JsonObject, textOf } from 'kedge/rpc';
import type { ExecProcess, LogLine, NodeImages, Runtime, TerminalSize } from '../agent/index.js';
import { CommandInput } from './command-input.js';
import { type CommandTarget, startCommand } from './start-command.js';
import { imagesHere } from './image-access.js';
import { imagePageOf } from './image-pages.js';
import { localLog, localPrevious } from './local-log.js';
import { agentLost } from './agent-call.js';
import { cursorOf } from './remote-log.js';
import { reported } from './reported-work.js';

/** The sources of the answers of an agent. */
export interface AnswerSources {
  readonly node: string;
  readonly runtimes: readonly Runtime[];
  readonly clock: Clock;
  /** Absent: requests about images are refused. */
  readonly images?: NodeImages | undefined;
}

interface Received {
  readonly request: JsonObject;
  /** Ends when the caller or the server is gone. */
  readonly input: AsyncIterable<JsonObject>;
  /** Aborted as soon as the caller or the server is gone. */
  readonly gone: AbortController;
}

/** Maximum bytes of output in one message. */
const pieceBytesMax = 1_048_576;

/** A workload's uid names a directory. */
const uidPattern = /^[0-9a-zA-Z-]{1,64}$/;

function targetIn(request: JsonObject): CommandTarget {
  const target = isJsonObject(request.target) ? request.target : {};
  const uid = textOf(target, 'uid');
  if (!uidPattern.test(uid))
    throw invalid([{ field: 'target.uid', description: `${JSON.stringify(uid)} is not a uid` }]);
  const text = (field: string): string => textOf(target, field);
  return {
    uid,
    runtime: text('runtime'),
    namespace: text('namespace'),
    name: text('name'),
    status: text('status'),
  };
}

function sizeIn(value: unknown): TerminalSize {
  const { columns, rows } = isJsonObject(value) ? value : {};
  return { columns: Number(columns) || 80, rows: Number(rows) || 24 };
}

/** Reads input that the request does not need, to notice its end. */
async function untilGone({ input, gone }: Received): Promise<void> {
  try {
    for await (const _ of input);
  } finally {
    gone.abort();
  }
}

async function feed(command: ExecProcess, stdin: CommandInput, message: JsonObject): Promise<void> {
  const data = textOf(message, 'data');
  if (data !== '') await stdin.write(Buffer.from(data, 'base64'));
  if (message.dataEnd === true) stdin.close();
  if (isJsonObject(message.resize)) await command.resize(sizeIn(message.resize));
  const name = textOf(message, 'signal');
  if (name !== '') await command.signal(name as NodeJS.Signals);
}

async function* exec(
  sources: AnswerSources,
  request: JsonObject,
  { input, gone }: Received,
): AsyncIterable<JsonObject> {
  const words = Array.isArray(request.command) ? request.command.map(String) : [];
  const terminal = request.tty === true ? sizeIn(request.size) : undefined;
  const command = await startCommand(sources, targetIn(request), { command: words, terminal });
  const kill = (): void => command.kill();
  gone.signal.addEventListener('abort', kill, { once: true });
  if (gone.signal.aborted) kill();
  const stdin = new CommandInput(command);
  const feeding = (async () => {
    try {
      for await (const message of input) await feed(command, stdin, message);
    } finally {
      gone.abort();
    }
  })();
  feeding.catch(() => undefined);
  try {
    yield { begun: true };
    for await (const { stream, data } of command.output)
      for (let at = 0; at < data.length; at += pieceBytesMax)
        yield { [stream]: data.subarray(at, at + pieceBytesMax).toString('base64') };
    const { code, signal } = await command.exited;
    yield { exit: { code, signal } };
  } finally {
    gone.signal.removeEventListener('abort', kill);
    kill();
  }
}

async function* linesOf(lines: AsyncIterable<LogLine>): AsyncIterable<JsonObject> {
  yield { begun: true };
  for await (const { content, cursor, time = '' } of lines)
    yield { line: { content, cursor: { numbers: cursor.map(String) }, time } };
  yield { end: true };
}

function timeIn(request: JsonObject, field: 'since' | 'until'): number | undefined {
  const ms = Number(request[field]);
  return ms > 0 ? ms : undefined;
}

async function* readLog(
  { runtimes }: AnswerSources,
  request: JsonObject,
  received: Received,
): AsyncIterable<JsonObject> {
  untilGone(received).catch(() => undefined);
  const target = targetIn(request);
  if (request.previous === true) {
    const previous = await localPrevious(runtimes, target);
    if (previous) yield* linesOf(previous);
    else yield { end: true };
    return;
  }
  yield* linesOf(
    localLog(runtimes, target, {
      tail: Number(request.tail) || 0,
      follow: request.follow === true,
      signal: received.gone.signal,
      after: isJsonObject(request.after) ? cursorOf(request.after) : undefined,
      since: timeIn(request, 'since'),
      until: timeIn(request, 'until'),
    }),
  );
}

/** The archive in the input, with backpressure. */
async function* archiveIn(
  { node }: AnswerSources,
  { input, gone }: Received,
): AsyncIterable<Buffer> {
  const iterator = input[Symbol.asyncIterator]();
  for (;;) {
    const next = await iterator.next();
    if (next.done === true) {
      gone.abort();
      throw agentLost(node);
    }
    if (next.value.dataEnd === true) break;
    const piece = Buffer.from(textOf(next.value, 'data'), 'base64');
    if (piece.length > 0) yield piece;
  }
  untilGone({ request: {}, input: { [Symbol.asyncIterator]: () => iterator }, gone }).catch(
    () => undefined,
  );
}

function requireImages({ images, node }: AnswerSources): NodeImages {
  if (images) return images;
  throw failedPrecondition(
    'RuntimeUnavailable',
    `node ${node} has no container runtime and therefore no images`,
    { kind: 'Node', name: node },
  );
}

async function* loadImages(sources: AnswerSources, received: Received): AsyncIterable<JsonObject> {
  const { gone } = received;
  const images = imagesHere(requireImages(sources));
  const tar = Readable.from(archiveIn(sources, received), { objectMode: false });
  try {
    yield* reported(sources.clock, async (onText) => ({
      loaded: { images: await images.load(tar, onText, gone.signal) },
    }));
  } finally {
    // The load ends with its archive.
    tar.destroy();
  }
}

function dispatched(sources: AnswerSources, received: Received): AsyncIterable<JsonObject> {
  const { request, gone } = received;
  if (isJsonObject(request.exec)) return exec(sources, request.exec, received);
  if (isJsonObject(request.readLog)) return readLog(sources, request.readLog, received);
  if (isJsonObject(request.loadImages)) return loadImages(sources, received);
  const { listImages, pruneImages } = request;
  untilGone(received).catch(() => undefined);
  return (async function* () {
    if (isJsonObject(listImages)) {
      const images = imagesHere(requireImages(sources));
      // A server of an earlier release sends no limit.
      const isPaged = Number(listImages.limit) > 0;
      yield {
        images: await (isPaged
          ? images.list(gone.signal, imagePageOf(listImages))
          : images.listWhole(gone.signal)),
      };
    } else if (isJsonObject(pruneImages)) {
      const images = imagesHere(requireImages(sources));
      yield* reported(sources.clock, async () => ({
        pruned: await images.prune(gone.signal, pruneImages.dryRun === true),
      }));
    } else
      throw new StatusError({
        code: 'Unimplemented',
        reason: 'Unimplemented',
        message: `the agent of node ${sources.node} does not know this request; upgrade it`,
      });
  })();
}

/** The answers to a request; a failure is the last one. Ends when the caller or the server is gone. */
export async function* answersTo(
  sources: AnswerSources,
  received: Received,
): AsyncIterable<JsonObject> {
  try {
    yield* dispatched(sources, received);
  } catch (error) {
    const { code, reason, message } = StatusError.from(error);
    yield { failure: { code, reason, message } };
  }
}
