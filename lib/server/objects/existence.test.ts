import { expect } from 'chai';
import type { JsonObject } from '../../rpc/index.js';
import { StatusError } from '../../base/index.js';
import {
  type House,
  lamps,
  nextName,
  openHouse,
  rights,
  there,
} from './object-service-house.test.js';

type Place = Readonly<{ namespace: string; name: string }>;
type Verb = 'get' | 'create' | 'update' | 'status' | 'delete' | 'check' | 'absence';

const verbs: Readonly<Record<Verb, (place: Place) => JsonObject>> = {
  get: (place) => place,
  create: (place) => ({ type: 'CREATE', object: JSON.stringify({ ...there, ...place }) }),
  update: (place) => ({ type: 'OVERWRITE', object: JSON.stringify({ ...there, ...place }) }),
  status: () => ({ type: 'UPDATE_STATUS', object: '{"on":true}' }),
  delete: () => ({ type: 'DELETE_BY_NAME' }),
  check: () => ({ type: 'CHECK', precondition: { resourceVersion: '1' } }),
  absence: () => ({ type: 'CHECK', precondition: { absent: true } }),
};
/** Subjects without the right to a verb on lamps in the namespace home. */
const withoutRight: Readonly<Record<Verb, readonly string[]>> = {
  get: ['nobody', 'creator', 'updater', 'deleter', 'stator', 'elsewhere'],
  create: ['nobody', 'reader', 'updater', 'deleter', 'stator', 'elsewhere'],
  update: ['nobody', 'reader', 'creator', 'deleter', 'stator', 'elsewhere'],
  status: ['nobody', 'reader', 'creator', 'updater', 'deleter', 'elsewhere'],
  delete: ['nobody', 'reader', 'creator', 'updater', 'stator', 'elsewhere'],
  check: ['nobody', 'creator', 'updater', 'deleter', 'stator', 'elsewhere'],
  absence: ['nobody', 'creator', 'updater', 'deleter', 'stator', 'elsewhere'],
};

describe('whether an object exists', () => {
  let house: House;
  before(async () => {
    house = await openHouse();
  });
  after(() => house[Symbol.asyncDispose]());

  /** The content of an answer without the name of the object. */
  const answerOf = (call: Promise<unknown>, { name }: Place): Promise<string> =>
    call.then(
      (answer) => JSON.stringify(answer),
      (error: unknown) => {
        const { code, reason, message } = StatusError.from(error);
        return `${code} ${reason} ${message}`.replaceAll(name, 'NAME');
      },
    );
  function ask(subject: string, verb: Verb, place: Place): Promise<string> {
    const operation = { kind: 'Lamp', ...place, ...verbs[verb](place) };
    if (verb === 'get')
      return answerOf(house.client(subject, true).call('ObjectService.Get', operation), place);
    return answerOf(house.transact(subject, [operation]), place);
  }
  async function lampOf(owner: string): Promise<Place> {
    const place = { namespace: 'home', name: nextName() };
    await house.store.create(lamps, { ...there, labels: { owner }, ...place });
    return place;
  }

  for (const verb of Object.keys(verbs) as Verb[])
    for (const subject of withoutRight[verb])
      it(`is not disclosed to ${subject}, who has no right to ${verb} it`, async () => {
        expect(rights).to.have.property(subject);
        const missing = await ask(subject, verb, { namespace: 'home', name: nextName() });
        expect(missing).to.match(/^PermissionDenied /);
        expect(await ask(subject, verb, await lampOf('somebody'))).to.equal(missing);
      });

  it('is not disclosed by a creation of an object that the caller may not access', async () => {
    const creation = (place: Place): Promise<string> => {
      const object = JSON.stringify({ ...there, labels: { owner: 'somebody' }, ...place });
      const operation = { type: 'CREATE', kind: 'Lamp', ...place, object };
      return answerOf(house.transact('narrowed', [operation]), place);
    };
    const missing = await creation({ namespace: 'home', name: nextName() });
    expect(missing).to.match(/^PermissionDenied /);
    expect(await creation(await lampOf('somebody'))).to.equal(missing);
    expect(await ask('narrowed', 'create', await lampOf('narrowed'))).to.match(/^AlreadyExists /);
  });
});
