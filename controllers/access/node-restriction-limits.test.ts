import { expect } from 'chai';
import {
  type ApiObject,
  type EffectRecord,
  Manager,
  MemoryEngine,
  type ObjectStore,
  openStore,
} from 'kedge';
import type { Identity, ObjectFilter } from 'kedge/server';
import type { Driver } from '@kedge/driver-sdk';
import { FakeClock, settle } from 'kedge/testing';
import { instances } from '../instance/kind.js';
import type { Snapshot } from '../snapshot/kind.js';
import { type Volume, type VolumeStatus, volumes } from '../volume/kind.js';
import { nodeRestriction } from './node-restriction.js';

/** Two drivers. Only `cloud` has a sensitive parameter. */
const drivers = {
  names: ['cloud', 'disk'],
  get: (name: string) => {
    const sensitiveParameters = name === 'cloud' ? ['apiToken'] : [];
    return Promise.resolve({
      name,
      capabilities: () => ({ sensitiveParameters }),
    } as unknown as Driver);
  },
};
const where = { namespace: 'default' };
const attachedHere = [{ claim: 'default/here-0', node: 'near', state: 'Attached' }] as const;

describe("objects that a node's token can't access", () => {
  let store: ObjectStore;
  let manager: Manager;
  let filter: ObjectFilter;

  async function createVolume(name: string, status: VolumeStatus): Promise<Volume> {
    const spec = { storageClassName: 'c', size: '1Gi', accessMode: 'ReadWriteOnce' } as const;
    await store.create(volumes, { ...where, name, ...spec });
    return store.updateStatus(volumes, { ...where, name }, status);
  }

  async function createInstance(name: string, node: string, claim: string): Promise<void> {
    const template = { volumes: [{ name: 'data', mountPath: '/d', claim: { name: claim } }] };
    const fields = { service: name, ordinal: 0, node, template };
    await store.create(instances, { ...where, name: `${name}-0`, ...fields });
  }

  const mine = { 'svc.io/node': 'near' };
  let owned: Volume;
  let held: Volume;
  let cloud: Volume;

  before(async () => {
    const clock = new FakeClock();
    store = await openStore({ engine: new MemoryEngine(), clock });
    manager = new Manager({ store, clock });
    const restriction = nodeRestriction(manager, drivers);
    await createInstance('here', 'near', 'held');
    await createInstance('there', 'far', 'held');
    owned = await createVolume('owned', { topology: mine, driver: 'disk' });
    held = await createVolume('held', { attachments: attachedHere, driver: 'disk' });
    cloud = await createVolume('cloud', { topology: mine, driver: 'cloud' });
    await manager.start();
    const found = restriction.filterFor({ subject: 'agent', node: 'near' } as Identity);
    if (!found) throw new Error('the token of a node is not narrowed');
    filter = found;
  });
  after(async () => {
    await manager.stop(0);
    await store.close();
  });

  const named = (name: string): ApiObject => ({ ...owned, ...where, name });
  const reaches = (resource: string, object: ApiObject, verb = 'get'): unknown =>
    filter.allows(resource, verb, object);
  const withheld = async (before: Volume, change: Partial<Volume>): Promise<readonly string[]> => {
    const after = { ...before, ...change };
    const found = (await filter.withheld?.('volumes/status', { before, after })) ?? [];
    return found.map(({ field }) => field);
  };

  it('include snapshots of a volume that other nodes may access, and of an earlier volume of its name', () => {
    const snapshotOf = ({ name, metadata }: Volume, sourceUid = metadata.uid): Snapshot => ({
      ...where,
      name: 's',
      metadata,
      source: { volume: name },
      sourceUid,
    });
    expect(reaches('snapshots', snapshotOf(owned))).to.equal(true);
    expect(reaches('snapshots', snapshotOf(held)), 'attached here').to.equal(false);
    expect(reaches('snapshots', snapshotOf(owned, 'earlier')), 'earlier').to.equal(false);
  });

  it('include services that have no instance on the node', () => {
    expect(reaches('services', named('here'))).to.equal(true);
    expect(reaches('services', named('there'))).to.equal(false);
  });

  it('include storage classes for writes', () => {
    expect(reaches('storageclasses', named('c'))).to.equal(true);
    for (const verb of ['update', 'delete'])
      expect(reaches('storageclasses', named('c'), verb), verb).to.equal(false);
  });

  it('include the handle of a volume whose driver takes credentials', async () => {
    expect(await withheld(owned, { handle: 'h' })).to.deep.equal([]);
    expect(await withheld(cloud, { handle: 'h' })).to.deep.equal(['handle']);
    expect(await withheld(held, { handle: 'h' }), 'attached here').to.deep.equal(['handle']);
  });

  it('include attachments for instances of other nodes, and for instances that do not mount the volume', async () => {
    const claimed = (claim: string): Partial<Volume> => ({
      attachments: [{ claim, node: 'near', state: 'Reserved' }],
    });
    const free = { ...held, attachments: [] };
    expect(await withheld(free, claimed('default/here-0'))).to.deep.equal([]);
    expect(await withheld(free, claimed('default/there-0'))).to.deep.equal(['attachments']);
    expect(await withheld(owned, claimed('default/here-0'))).to.deep.equal(['attachments']);
  });

  it('include operations of other nodes that attach the same volume, and those of the volume itself', async () => {
    const share = [
      { claim: 'default/here-0', node: 'near', state: 'Attached' },
      { claim: 'default/there-0', node: 'far', state: 'Reserved' },
    ] as const;
    const record = (volume: Volume, effects: EffectRecord['effects']): EffectRecord => ({
      ...{ name: volume.metadata.uid, of: 'Volume', key: `default/${volume.name}` },
      effects,
      metadata: volume.metadata,
    });
    const effect = { idempotencyKey: 'k', controller: 'agent', key: 'k', startedAt: 1 };
    const state = { ...effect, phase: 'pending', operationId: 'op-1' } as const;
    const others = { 'driver attach far': state, 'driver expand': state };
    const of = async (volume: Volume, effects: EffectRecord['effects']) => {
      const change = { before: record(volume, others), after: record(volume, effects) };
      const found = (await filter.withheld?.('effectrecords', change)) ?? [];
      return found.map(({ field }) => field);
    };

    const shared = await createVolume('shared', { attachments: share, driver: 'cloud' });
    const leaving = await createVolume('leaving', {
      attachments: [{ ...share[0], state: 'Detaching' }, share[1]],
      driver: 'cloud',
    });
    await settle();
    expect(await of(shared, { ...others, 'driver attach near': state })).to.deep.equal([]);
    const { 'driver expand': _, ...withoutExpand } = others;
    const changes: readonly EffectRecord['effects'][] = [
      { 'driver expand': state },
      { ...others, 'driver attach far': { ...state, operationId: 'op-2' } },
      { ...others, 'driver attach': state },
      withoutExpand,
    ];
    for (const change of changes)
      expect(await of(shared, change), Object.keys(change).join()).to.deep.equal(['effects']);
    expect(await of(leaving, { ...others, 'driver detach near': state })).to.deep.equal(['key']);
    expect(reaches('effectrecords', record(shared, others))).to.equal(true);
    expect(reaches('effectrecords', record(shared, others), 'delete')).to.equal(false);
    expect(
      reaches('effectrecords', record(shared, { 'driver attach near': state }), 'delete'),
    ).to.equal(true);
    expect(reaches('effectrecords', record(leaving, others))).to.equal(false);
  });

  it('include events in another namespace than that of their object, and deletions of its own', () => {
    const event = (namespace: string): ApiObject => {
      const regarding = { kind: 'Instance', namespace: 'default', name: 'here-0' };
      return { ...named('e'), namespace, regarding } as ApiObject;
    };
    for (const verb of ['get', 'list', 'create', 'update'])
      expect(reaches('events', event('default'), verb), verb).to.equal(true);
    expect(reaches('events/expiry', event('default'), 'update')).to.equal(true);
    expect(reaches('events', event('default'), 'delete')).to.equal(false);
    expect(reaches('events', event('system'), 'create')).to.equal(false);
  });
});
