import { expect } from 'chai';
import Fastify from 'fastify';
import { systemClock } from '../../base/index.js';
import { readJsonBodies } from './json-bodies.js';

describe('a JSON body over REST', () => {
  it('is handled in a later turn than the one that parses it if it is long, and at once if it is short', async () => {
    let deferred = 0;
    const app = Fastify();
    const defer = (callback: () => void): void => {
      deferred += 1;
      systemClock.defer(callback);
    };
    readJsonBodies(app, { ...systemClock, defer });
    app.post('/', (request) => Promise.resolve({ length: String(request.body).length }));
    const lengthOf = async (text: string): Promise<unknown> => {
      const headers = { 'content-type': 'application/json' };
      const answer = await app.inject({ method: 'POST', url: '/', headers, payload: `"${text}"` });
      return answer.json<{ readonly length: unknown }>().length;
    };
    expect(await lengthOf('a'.repeat(60_000))).to.equal(60_000);
    expect(deferred).to.equal(0);
    expect(await lengthOf('a'.repeat(70_000))).to.equal(70_000);
    // At least two turns; more if parsing takes longer than a slice.
    expect(deferred).to.be.at.least(2);
    await app.close();
  });
});
