import { isJsonObject, type JsonObject } from 'kedge/rpc';
import { EngineError, socketError } from './engine-error.js';
import type { EngineStream } from './engine-transport.js';

/** Maximum bytes of one object. Progress and events have a few hundred. */
const lineBytesMax = 1024 * 1024;

/**
 * Yields the objects of a stream of JSON lines, such as events and progress. Closes the stream at the end.
 * @param idleMs the idle timeout of the stream; undefined: none
 * @throws EngineError
 */
export async function* jsonLines(
  stream: EngineStream,
  socketPath: string,
  idleMs?: number,
): AsyncGenerator<JsonObject> {
  let rest = Buffer.alloc(0);
  try {
    stream.within(idleMs);
    for await (const chunk of stream.body as AsyncIterable<Buffer>) {
      // The idle timeout does not include the time that the reader takes.
      stream.within(undefined);
      let from = 0;
      for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, from)) {
        const line = Buffer.concat([rest, chunk.subarray(from, at)]);
        rest = Buffer.alloc(0);
        from = at + 1;
        const object = parsed(line);
        if (object) yield object;
      }
      rest = Buffer.concat([rest, chunk.subarray(from)]);
      if (rest.length > lineBytesMax)
        throw new EngineError(
          'Malformed',
          `a line of the engine's answer is longer than ${lineBytesMax} bytes`,
        );
      stream.within(idleMs);
    }
    const object = parsed(rest);
    if (object) yield object;
  } catch (error) {
    const ended = stream.failure();
    if (ended !== undefined) throw ended;
    if (error instanceof EngineError) throw error;
    throw socketError(socketPath, error as NodeJS.ErrnoException);
  } finally {
    stream.close();
  }
}

function parsed(line: Buffer): JsonObject | undefined {
  const text = line.toString('utf8').trim();
  if (text === '') return undefined;
  try {
    const value: unknown = JSON.parse(text);
    if (isJsonObject(value)) return value;
  } catch {
    // Reported below.
  }
  throw new EngineError('Malformed', "a line of the engine's answer is not a JSON object");
}
