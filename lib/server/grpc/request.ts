import { type Clock, TimeSlice } from '../../base/index.js';
import {
  type JsonObject,
  type MethodInfo,
  requireFewItems,
  requireKnownFields,
  type SchemaRegistry,
} from '../../rpc/index.js';

/** Maximum bytes of a message that is decoded within one turn of the event loop. */
const oneTurnBytes = 65_536;

/**
 * Decodes the request message of a call. Its items are counted first. A long message is decoded in steps, with turns
 * for other work in between.
 * @throws StatusError InvalidArgument
 */
export function readRequest(
  schemas: SchemaRegistry,
  { input }: MethodInfo,
  bytes: Buffer,
  clock: Clock,
): JsonObject | Promise<JsonObject> {
  if (bytes.length > oneTurnBytes) return readInTurns(schemas, input, bytes, clock);
  requireFewItems(input, bytes);
  const request = schemas.decodeKnown(input, bytes);
  if (request) return request;
  requireKnownFields(input, bytes);
  return schemas.decode(input, bytes);
}

async function readInTurns(
  schemas: SchemaRegistry,
  input: MethodInfo['input'],
  bytes: Buffer,
  clock: Clock,
): Promise<JsonObject> {
  const slice = new TimeSlice(clock, { everyStep: true });
  const turn = async (): Promise<void> => {
    if (slice.due()) await slice.pause();
  };
  requireFewItems(input, bytes);
  await turn();
  requireKnownFields(input, bytes);
  await turn();
  const request = await schemas.decodeInTurns(input, bytes, turn);
  await turn();
  return request;
}
