import type { FastifyInstance } from 'fastify';
import type { Clock } from '../../base/index.js';
import { parseBody } from '../schema/json-body.js';

/** A longer body is judged in another turn of the event loop than it is parsed in: both take long. */
const oneTurnCharacters = 65_536;

/** Makes an app read JSON bodies, and no others. */
export function readJsonBodies(app: FastifyInstance, clock: Clock): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (_request, body, done) => {
    try {
      const parsed = body === '' ? undefined : parseBody(String(body));
      if (body.length <= oneTurnCharacters) done(null, parsed);
      // What is deferred once from a read still runs before the next read.
      else clock.defer(() => clock.defer(() => done(null, parsed)));
    } catch (error) {
      done(error as Error);
    }
  });
}
