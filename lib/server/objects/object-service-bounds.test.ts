import { expect } from 'chai';
import { limits, StatusError } from '../../base/index.js';
import type { JsonObject } from '../../rpc/index.js';
import {
  type House,
  type Lamp,
  lamps,
  nextName,
  openHouse,
  there,
  verdictOf,
} from './object-service-house.test.js';

describe('limits of the object service', () => {
  let house: House;
  before(async () => {
    house = await openHouse();
  });
  after(() => house[Symbol.asyncDispose]());
  const lamp = (): Promise<Lamp> =>
    house.store.create(lamps, { ...there, namespace: 'home', name: nextName() });
  const transact = (operations: readonly JsonObject[]) => house.transact('everything', operations);
  const failure = (call: Promise<unknown>): Promise<StatusError> =>
    call.then(
      () => expect.fail('it was not refused'),
      (error: unknown) => StatusError.from(error),
    );
  const check = (of: Lamp, fields: JsonObject): JsonObject => ({
    type: 'CHECK',
    kind: 'Lamp',
    namespace: 'home',
    name: of.name,
    precondition: { fields },
  });
  const fieldsOf = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, n) => [`labels.l${n}`, '']));

  it('a check with the maximum number of fields is accepted, and no larger one, here and in the store', async () => {
    const stored = await lamp();
    const { preconditionFieldsMax: max } = limits;
    expect(await verdictOf(transact([check(stored, fieldsOf(max))]))).to.equal('OK');
    const error = await failure(transact([check(stored, fieldsOf(max + 1))]));
    expect(error.violations).to.deep.equal([
      {
        field: 'operations[0].precondition.fields',
        description:
          'has 101 fields, and at most 100 are allowed; compare resourceVersion, or use several checks',
      },
    ]);
    const fields = Object.fromEntries(
      Object.keys(fieldsOf(max + 1)).map((key) => [key, undefined]),
    );
    const key = { namespace: 'home', name: stored.name };
    const own = { op: 'check', kind: lamps, key, precondition: { fields } } as const;
    expect((await failure(house.store.transact([own]))).violations[0]?.description).to.contain(
      'at most 100 are allowed',
    );
  });

  it('the fields of a check are compared with one conversion of the object, and one of its hidden values', async () => {
    const stored = await lamp();
    const before = house.shown();
    await transact([check(stored, fieldsOf(100))]);
    // Two for the comparison, one for the answer.
    expect(house.shown() - before).to.equal(3);
  });

  it('a message of millions of operations is refused before it is decoded, and recorded', async () => {
    house.audited.length = 0;
    const operations = Array<JsonObject>(1_000_000).fill({});
    expect(await verdictOf(transact(operations))).to.equal('InvalidArgument TooManyItems');
    expect(
      house.audited.map(({ subject, method, code, reason }) => [subject, method, code, reason]),
    ).to.deep.equal([['everything', 'ObjectService.Transact', 'InvalidArgument', 'TooManyItems']]);
  });
});
