import type { FastifyInstance } from 'fastify';
import { type Clock, TimeSlice } from '../../base/index.js';
import { parseBody, parseBodyInTurns } from '../schema/json-body.js';

/** A body with more characters is parsed in several turns of the event loop, and validated in a later one. */
const oneTurnCharacters = 65_536;

/** Makes an app parse JSON bodies, and no other type. */
export function readJsonBodies(app: FastifyInstance, clock: Clock): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (_request, body, done) => {
    const text = String(body);
    if (text.length > oneTurnCharacters) {
      parseLong(text, clock).then((parsed) => done(null, parsed), done);
      return;
    }
    try {
      done(null, text === '' ? undefined : parseBody(text));
    } catch (error) {
      done(error as Error);
    }
  });
}

async function parseLong(text: string, clock: Clock): Promise<unknown> {
  const slice = new TimeSlice(clock, { everyStep: true });
  const turn = async (): Promise<void> => {
    if (slice.due()) await slice.pause();
  };
  const parsed = await parseBodyInTurns(text, turn);
  // A callback that was deferred once during a read runs before the next read, so defer twice.
  await new Promise<void>((resolve) => clock.defer(() => clock.defer(resolve)));
  return parsed;
}
