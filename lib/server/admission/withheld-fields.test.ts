import { expect } from 'chai';
import type { JsonObject } from '../../rpc/index.js';
import {
  type House,
  lamps,
  nextName,
  openHouse,
  there,
} from '../objects/object-service-house.test.js';
import { StatusError } from '../../base/index.js';

describe('fields that a caller with access to the object may not write', () => {
  let house: House;
  before(async () => {
    house = await openHouse();
  });
  after(() => house[Symbol.asyncDispose]());

  const locked = { ...there, labels: { owner: 'narrowed', locked: 'yes' } };
  const refusal = (call: Promise<unknown>): Promise<string> =>
    call.then(
      () => 'OK',
      (error: unknown) => {
        const { code, violations, message } = StatusError.from(error);
        return `${code} ${violations.map(({ field }) => field).join()} ${message}`;
      },
    );
  const single = (method: string, request: JsonObject): Promise<string> =>
    refusal(house.client('narrowed', false).call(`LampService.${method}`, request));
  const transact = (operation: JsonObject): Promise<string> =>
    refusal(
      house.transact('narrowed', [{ kind: 'Lamp', namespace: 'home', ...operation }] as const),
    );
  const refused = /PermissionDenied .*labels\.locked.*labels\.locked: locks lamps/;

  it('are refused by name in every kind of write, and nothing is written', async () => {
    const name = nextName();
    const made = await house.store.create(lamps, { ...locked, namespace: 'home', name });
    const where = { namespace: 'home', name };
    const lamp = { ...locked, watts: 41 };
    const text = JSON.stringify({ ...lamp, name });
    expect(await single('Update', { ...where, lamp })).to.match(refused);
    expect(await single('Update', { ...where, lamp, dryRun: true })).to.match(refused);
    expect(await single('UpdateStatus', { ...where, lamp: { on: true } })).to.match(
      /locks lamps\/status/,
    );
    const other = nextName();
    const created = { namespace: 'home', lamp: { ...locked, name: other } };
    expect(await single('Create', created)).to.match(refused);
    expect(await transact({ type: 'OVERWRITE', name, object: text })).to.match(refused);
    expect(await transact({ type: 'UPDATE_STATUS', name, object: '{"on":true}' })).to.match(
      /locks lamps\/status/,
    );
    const finalizers = JSON.stringify({ ...locked, name, metadata: { finalizers: ['x'] } });
    expect(await transact({ type: 'OVERWRITE', name, object: finalizers })).to.match(refused);
    const object = JSON.stringify({ ...lamp, name: other });
    expect(await transact({ type: 'CREATE', name: other, object })).to.match(refused);
    expect(await house.store.get(lamps, where)).to.deep.equal(made);
    expect(await house.store.get(lamps, { ...where, name: other })).to.equal(undefined);
  });

  it('are checked against the stored object at the commit: after a change they are checked again', async () => {
    const name = nextName();
    const where = { namespace: 'home', name };
    await house.store.create(lamps, { ...there, namespace: 'home', name });
    const writes = Array.from({ length: 20 }, (_, at) =>
      single('UpdateStatus', { ...where, lamp: { on: at % 2 === 0 } }),
    );
    const current = await house.store.get(lamps, where);
    await house.store.overwrite(lamps, { ...current!, labels: locked.labels });
    for (const verdict of await Promise.all(writes)) expect(verdict).to.match(/^OK|locks lamps/);
    expect(await single('UpdateStatus', { ...where, lamp: { on: false } })).to.match(/locks/);
  });

  it('are a conflict if the caller guards with an old version, because it did not make the change', async () => {
    const name = nextName();
    const where = { namespace: 'home', name };
    const made = await house.store.create(lamps, { ...there, namespace: 'home', name });
    const { uid, resourceVersion } = made.metadata;
    const metadata = { uid, resourceVersion };
    await house.store.overwrite(lamps, { ...made, labels: locked.labels });
    const lamp = { ...there, metadata };
    expect(await single('Update', { ...where, lamp })).to.match(/^Aborted/);
    expect(await single('Update', { ...where, lamp, dryRun: true })).to.match(/^Aborted/);
    for (const invalid of [{ room: 'attic' }, { watts: 13 }])
      expect(await single('Update', { ...where, lamp: { ...lamp, ...invalid } })).to.match(
        /^Aborted/,
      );
    expect(await single('UpdateStatus', { ...where, lamp: { on: true, metadata } })).to.match(
      /^Aborted/,
    );
    const guarded = { name, precondition: metadata };
    const object = JSON.stringify({ ...there, name });
    expect(await transact({ type: 'UPDATE', ...guarded, object })).to.match(/^Aborted/);
    expect(await transact({ type: 'UPDATE_STATUS', ...guarded, object: '{"on":true}' })).to.match(
      /^Aborted/,
    );
  });

  it('are not compared, nor quoted, in an object that the caller may not access', async () => {
    const name = nextName();
    const foreign = { ...there, room: 'vault', labels: { owner: 'other' } };
    const made = await house.store.create(lamps, { ...foreign, namespace: 'home', name });
    const lamp = { ...there, room: 'hall' };
    const verdicts = [
      await single('Update', { namespace: 'home', name, lamp }),
      await transact({ type: 'OVERWRITE', name, object: JSON.stringify({ ...lamp, name }) }),
    ];
    for (const verdict of verdicts)
      expect(verdict)
        .to.match(/^PermissionDenied .*does not belong/)
        .and.not.contain('vault');
    expect(await house.store.get(lamps, { namespace: 'home', name })).to.deep.equal(made);
  });

  it('do not prevent writes of other fields', async () => {
    const name = nextName();
    const where = { namespace: 'home', name };
    const made = await house.store.create(lamps, { ...there, namespace: 'home', name });
    expect(await single('UpdateStatus', { ...where, lamp: { on: true } })).to.equal('OK');
    const { uid, resourceVersion } = made.metadata;
    const stale = { on: false, metadata: { resourceVersion } };
    expect(await single('UpdateStatus', { ...where, lamp: stale })).to.match(/^Aborted/);
    const other = { on: false, metadata: { uid: `${uid}x` } };
    expect(await single('UpdateStatus', { ...where, lamp: other })).to.match(/^Aborted/);
    expect((await house.store.get(lamps, where))?.on).to.equal(true);
  });
});
