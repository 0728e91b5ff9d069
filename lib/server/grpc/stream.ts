import type { JsonObject, MethodInfo } from '../../rpc/index.js';
import { type MessageSink, PacedWrites, type WaitingBytes } from '../transport/paced-writes.js';
import { encodedOnce } from '../api/shared-answer.js';
import type { AnswerEncoder } from './answers.js';
import type { GrpcCall } from './call.js';

type AnsweringCall = Pick<GrpcCall, 'write' | 'end'>;

/** An outgoing stream of answers to a gRPC client. */
export interface GrpcStream {
  readonly method: MethodInfo;
  readonly call: AnsweringCall;
  readonly answers: AsyncIterable<JsonObject>;
  readonly encoder: AnswerEncoder;
  /** Buffered bytes of all readers of the server. */
  readonly waiting: WaitingBytes;
  /** Ends the stream at once. */
  readonly cut: MessageSink['cut'];
  readonly signal: AbortSignal;
}

/** Sends a stream and ends the call. Rejects with errors of its source. */
export async function sendStream(stream: GrpcStream): Promise<void> {
  const { method, call, answers, encoder, waiting, cut, signal } = stream;
  // A client that does not read blocks the source instead of filling the memory.
  using writes = new PacedWrites(
    { write: (message, written) => call.write(message, written), cut },
    signal,
    waiting,
  );
  for await (const answer of answers) {
    if (signal.aborted) break;
    await writes.write(encodedOnce(answer, method.output, () => encoder.encode(method, answer)));
  }
  call.end();
}
