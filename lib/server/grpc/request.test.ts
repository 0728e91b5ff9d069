import { expect } from 'chai';
import { type Clock, StatusError, systemClock } from '../../base/index.js';
import { baseDescriptors, type MethodInfo, SchemaRegistry } from '../../rpc/index.js';
import { readRequest } from './request.js';

const schemas = new SchemaRegistry(baseDescriptors);
const input = schemas.message('kedge.TransactRequest');
const method = { input } as unknown as MethodInfo;
const operations = (count: number) =>
  Array.from({ length: count }, (_, n) => ({ namespace: 'default', name: `lamp-${n}` }));

/** A clock on which each step uses up its turn; counts the turns of other work. */
function busyClock(): { readonly clock: Clock; readonly turns: () => number } {
  let turns = 0;
  let isNew = false;
  const clock: Clock = {
    ...systemClock,
    turnAgeMs: () => {
      const age = isNew ? 0 : 100;
      isNew = false;
      return age;
    },
    defer: (callback) => {
      turns += 1;
      setImmediate(() => {
        isNew = true;
        callback();
      });
    },
  };
  return { clock, turns: () => turns };
}

describe('a request message of gRPC', () => {
  it('is decoded at once if it is short', () => {
    const bytes = Buffer.from(schemas.encode(input, { operations: operations(3) }));
    const { clock, turns } = busyClock();
    const request = readRequest(schemas, method, bytes, clock);
    expect(request).not.to.be.instanceOf(Promise);
    expect(request).to.have.property('operations').with.length(3);
    expect(turns()).to.equal(0);
  });

  it('is decoded in steps if it is long, with turns for other work in between', async () => {
    const bytes = Buffer.from(schemas.encode(input, { operations: operations(4_000) }));
    const { clock, turns } = busyClock();
    const request = await readRequest(schemas, method, bytes, clock);
    expect(request).to.deep.equal(schemas.decode(input, bytes));
    expect(turns()).to.be.at.least(2);
  });

  it('is refused if it is long and malformed', async () => {
    const bytes = Buffer.alloc(100_000, 0xff);
    const refusal = await Promise.resolve()
      .then(() => readRequest(schemas, method, bytes, systemClock))
      .catch((error: unknown) => StatusError.from(error).reason);
    expect(refusal).to.equal('MalformedMessage');
  });
});
