import { expect } from 'chai';
import { namespaceIndex } from '../../object/index.js';
import type { JsonObject } from '../../rpc/index.js';
import {
  type House,
  type Lamp,
  lamps,
  nextName,
  note,
  openHouse,
  rights,
  there,
  verdictOf,
} from './object-service-house.test.js';

const denied = 'PermissionDenied PermissionDenied';

describe('checks of a kind over the object service', () => {
  let house: House;
  before(async () => {
    house = await openHouse();
    Object.assign(rights, {
      lister: ['list lamps home'],
      seer: ['list lamps *', 'reveal lamps *'],
    });
  });
  after(() => house[Symbol.asyncDispose]());
  const lamp = (code = 'secret'): Promise<Lamp> =>
    house.store.create(lamps, { ...there, code, namespace: 'home', name: nextName() });
  const check = (index: string, value: string, revision = house.store.revision): JsonObject => ({
    type: 'CHECK_KIND',
    kind: 'Lamp',
    kindCheck: { revision: String(revision), index, value },
  });
  const verdict = (subject: string, ...operations: readonly JsonObject[]): Promise<string> =>
    verdictOf(house.transact(subject, operations));
  const list = (subject: string, index: string, value: string): Promise<string> =>
    verdictOf(
      house.client(subject, true).call('ObjectService.List', {
        kind: 'Lamp',
        namespace: '-',
        index,
        value,
      }),
    );

  it('need the right to list in the namespace of the checked objects', async () => {
    for (const subject of ['nobody', 'creator', 'updater', 'deleter', 'stator'])
      for (const one of [check(namespaceIndex, 'home'), check('room', 'hall')])
        expect(await verdict(subject, one), subject).to.equal(denied);
    expect(await verdict('lister', check(namespaceIndex, 'home'))).to.equal('OK');
    expect(await verdict('lister', check(namespaceIndex, 'other'))).to.equal(denied);
    expect(await verdict('lister', check('room', 'hall'))).to.equal(denied);
    expect(await verdict('reader', check('room', 'hall'))).to.equal('OK');
  });

  it('need the right to read hidden values if the index may depend on them, as do lists', async () => {
    await lamp('hunter2');
    const before = house.store.revision - 1;
    for (const code of ['hunter2', 'hunter3']) {
      expect(await verdict('reader', check('code', code, before))).to.equal(denied);
      expect(await list('reader', 'code', code)).to.equal(denied);
    }
    expect(await verdict('seer', check('code', 'hunter2', before))).to.equal('Aborted Conflict');
    expect(await verdict('seer', check('code', 'hunter3'))).to.equal('OK');
    expect(await list('seer', 'code', 'hunter2')).to.equal('OK');
    expect(await list('reader', 'room', 'hall')).to.equal('OK');
  });

  it('refuse a whole transaction whose list is no longer valid, but not after a status write', async () => {
    const { name } = await lamp();
    const since = check('room', 'hall');
    await house.store.updateStatus(lamps, { namespace: 'home', name }, { on: true });
    expect(await verdict('everything', since, note(nextName()))).to.equal('OK');
    await lamp();
    expect(await verdict('everything', since, note(nextName()))).to.equal('Aborted Conflict');
    expect(await verdict('everything', check('room', 'attic'), note(nextName()))).to.equal('OK');
  });

  it('report the violations of an invalid check', async () => {
    const wrong: readonly JsonObject[] = [
      check('', ''),
      check('colour', 'red'),
      { ...check('room', 'hall'), kindCheck: { revision: '7.abc', index: 'room', value: 'hall' } },
      { ...check('room', 'hall'), name: 'a' },
      check('', 'hall'),
    ];
    for (const one of wrong)
      expect(await verdict('everything', one)).to.equal('InvalidArgument ValidationFailed');
  });

  it('of a generation hold despite any number of concurrent status writes', async () => {
    const { name, metadata } = await lamp();
    const { uid, generation } = metadata;
    const key = { namespace: 'home', name };
    const precondition = { uid, generation, notDeleting: true };
    const one = { type: 'CHECK', kind: 'Lamp', ...key, precondition };
    const beat = { type: 'UPDATE_STATUS', kind: 'Lamp', ...key };
    const verdicts = await Promise.all(
      Array.from({ length: 60 }, (_, n) =>
        n % 3 === 0
          ? verdict('everything', one, note(nextName()))
          : verdict('everything', { ...beat, object: JSON.stringify({ on: n % 2 === 0 }) }),
      ),
    );
    expect(new Set(verdicts)).to.deep.equal(new Set(['OK']));
    const now = await house.store.get(lamps, key);
    await house.store.update(lamps, { ...(now as Lamp), watts: 41 });
    expect(await verdict('everything', one, note(nextName()))).to.equal('Aborted Conflict');
  });
});
