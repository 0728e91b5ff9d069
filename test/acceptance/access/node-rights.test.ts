import { join } from 'node:path';
import { expect } from 'chai';
import { eventually } from 'kedge/testing';
import { workload } from '../daemon.js';
import { base, denied, type JsonObject, NodeCaller } from '../nodes/node-caller.js';

describe("writes of a node's token to volumes", function () {
  this.timeout(180_000);
  let caller: NodeCaller;
  before(async () => {
    caller = await NodeCaller.start();
  });
  after(() => caller[Symbol.asyncDispose]());

  it('can not read a secret by naming it in the status of its volume', async () => {
    for (const name of ['mine', 'disk']) {
      const driverParameters = { x: 'secret:treasure/token' };
      const refusals = await caller.write('Volume', name, { driverParameters });
      expect(await caller.treasure(), `the secret, by ${name}`).to.equal(403);
      for (const [way, { code, message }] of Object.entries(refusals)) {
        expect(code, `${name} by ${way}`).to.match(denied);
        expect(message, way).to.contain('driverParameters: is written only by controllers');
      }
    }
  });

  const attachment = { claim: 'default/disk-0', node: 'here', state: 'Reserved' };
  const statuses: readonly (readonly [string, JsonObject, RegExp])[] = [
    ['driver', { driver: 'local' }, /driver: is written only by controllers/],
    ['handle', { handle: 'vol-of-somebody-else' }, /handle: is written only by controllers/],
    ['sizeBytes', { sizeBytes: '1' }, /sizeBytes: is written/],
    ['topology', { topology: { 'svc.io/node': 'here' } }, /topology: is written/],
    ['effectiveReclaimPolicy', { effectiveReclaimPolicy: 'delete' }, /effectiveReclaimPolicy: is/],
    ['ownerService', { ownerService: 'default/other' }, /ownerService: is written/],
    ['attempts', { attempts: 99 }, /attempts: is written/],
    ['snapshotsInFlight', { snapshotsInFlight: ['x'] }, /snapshotsInFlight: is written/],
    ['status Released', { status: 'Released' }, /status: .* is made only by the volume controller/],
    [
      'status Available',
      { status: 'Available' },
      /status: .* is made only by the volume controller/,
    ],
    ['boundNode', { boundNode: 'elsewhere' }, /boundNode: "elsewhere" is not a node of one of its/],
    ['boundClaim', { boundClaim: 'default/mine-0' }, /boundClaim: .* is not a claim of one of its/],
    [
      'attachment for another node',
      { attachments: [{ ...attachment, node: 'elsewhere' }] },
      /attachments: node .* is not permitted to change attachments of other nodes/,
    ],
    [
      'attachment for an instance that does not mount it',
      { attachments: [{ ...attachment, claim: 'default/mine-0' }] },
      /attachments: default\/mine-0 is not an instance that is bound/,
    ],
    [
      'attachment for an instance that is not bound here',
      { attachments: [{ ...attachment, claim: 'default/elsewhere-0' }] },
      /attachments: default\/elsewhere-0 is not an instance/,
    ],
    [
      'attachment for an instance that does not exist',
      { attachments: [{ ...attachment, claim: 'default/nobody' }] },
      /attachments: default\/nobody is not an instance/,
    ],
    [
      'two attachments for one claim',
      { attachments: [attachment, attachment] },
      /attachments: a claim is listed twice/,
    ],
    [
      'attachment that is being detached',
      { attachments: [{ ...attachment, state: 'Detaching' }] },
      /attachments: state Detaching of/,
    ],
    [
      'condition of a controller',
      { conditions: [{ type: 'Provisioned', status: 'True', reason: 'X', message: '' }] },
      /conditions: a node writes only conditions of types Bound/,
    ],
  ];
  for (const [what, given, message] of statuses)
    it(`can not write a field of a volume that grants rights: ${what}`, async () => {
      const here = (value: unknown): unknown =>
        JSON.parse(JSON.stringify(value).replaceAll('"here"', JSON.stringify(caller.node)));
      const status = here(given) as JsonObject;
      const before = await caller.daemon.ok('GET', `${base}/volumes/disk`);
      for (const [way, refusal] of Object.entries(await caller.write('Volume', 'disk', status))) {
        expect(refusal.code, way).to.match(denied);
        expect(refusal.message, way).to.match(message);
      }
      for (const [way, refusal] of Object.entries(await caller.write('Volume', 'foreign', status)))
        expect(refusal.message, way).to.contain('the object does not belong to this account');
      const after = await caller.daemon.ok('GET', `${base}/volumes/disk`);
      for (const field of Object.keys(status))
        if (field !== 'conditions') expect(after[field], field).to.deep.equal(before[field]);
      expect((await caller.rest('GET', `${base}/volumes/foreign`)).status).to.equal(403);
    });

  it('keep the right to captured secrets when the class of the volume is deleted', async () => {
    const path = join(caller.daemon.home, 'host', 'captured');
    await caller.daemon.ok('POST', `${base}/secrets`, { name: 'place', data: { path } });
    await caller.daemon.ok('POST', '/v1/storageclasses', {
      name: 'going',
      driver: 'local-host',
      parameters: { hostPath: 'secret:place/path', createIfMissing: 'true' },
    });
    const { volume, service } = workload(caller.daemon, 'captured', 'sleep 600');
    const body = { ...volume, storageClassName: 'going', parameters: {} };
    await caller.daemon.ok('POST', `${base}/volumes`, body);
    await caller.daemon.ok('POST', `${base}/services`, service);
    const bound = async (): Promise<boolean> =>
      (await caller.daemon.ok('GET', `${base}/volumes/captured`)).status === 'Bound';
    await eventually('the volume', bound);
    const place = async (): Promise<number> =>
      (await caller.rest('GET', `${base}/secrets/place?reveal=true`)).status;
    expect(await place(), 'with the class').to.equal(200);
    await caller.daemon.ok('DELETE', '/v1/storageclasses/going?force=true');
    expect(await place(), 'without the class').to.equal(200);
    await caller.daemon.ok('DELETE', `${base}/services/captured`);
    await eventually('the volume to be free', async () => !(await bound()));
    await caller.daemon.ok('DELETE', `${base}/volumes/captured`);
    await eventually('the end of the right', async () => (await place()) === 403);
  });

  it('include the right to read the credentials of the class of a volume to attach', async () => {
    expect((await caller.rest('GET', `${base}/secrets/credential?reveal=true`)).status).to.equal(
      200,
    );
  });

  it('include the operation records of a volume only while its node attaches it', async () => {
    const { metadata } = await caller.daemon.ok('GET', `${base}/volumes/disk`);
    const name = String((metadata as { readonly uid: unknown }).uid);
    const object = JSON.stringify({ name, of: 'Volume', key: 'default/disk', effects: {} });
    const record = { kind: 'EffectRecord', name, object };
    const disk = `${base}/volumes/disk/status`;
    const attach = async (more: readonly object[]): Promise<unknown> =>
      (await caller.daemon.rest('PUT', disk, { attachments: more })).status;
    const mine = { claim: 'default/disk-0', node: caller.node, state: 'Reserved' };
    expect((await caller.transact({ type: 'CREATE', ...record })).code).to.match(denied);
    expect(await attach([mine])).to.equal(200);
    expect((await caller.transact({ type: 'CREATE', ...record })).code).to.equal('OK');
    expect((await caller.read('EffectRecord', name)).code).to.equal('OK');
    expect((await caller.transact({ type: 'OVERWRITE', ...record })).code).to.equal('OK');
    // With a record that controllers can't read, a daemon could no longer start.
    const unread = { name, of: 'Volume', key: 'default/disk', effects: { 'driver attach': null } };
    const unreadable = await caller.transact({
      ...record,
      type: 'OVERWRITE',
      object: JSON.stringify(unread),
    });
    expect(unreadable.code).to.equal('InvalidArgument');
    expect(unreadable.message).to.contain('effects.driver attach: null must be an object');
    const stolen = JSON.stringify({ name, of: 'Volume', key: 'default/foreign', effects: {} });
    const steal = { type: 'OVERWRITE', kind: 'EffectRecord', name, object: stolen };
    expect((await caller.transact(steal)).message).to.contain(
      'key: does not belong to a volume that node',
    );
    expect(await attach([mine, { ...mine, claim: 'default/x', node: 'elsewhere' }])).to.equal(200);
    expect((await caller.read('EffectRecord', name)).code, 'on two nodes').to.equal('OK');
    const ofBoth = { name, of: 'Volume', key: 'default/disk' };
    const effects = {
      'driver attach elsewhere': {
        ...{ phase: 'called', idempotencyKey: 'k', controller: 'agent', key: 'k', startedAt: 1 },
      },
    };
    const others = await caller.transact({
      ...record,
      type: 'OVERWRITE',
      object: JSON.stringify({ ...ofBoth, effects }),
    });
    expect(others.code, 'the call of the other node').to.match(denied);
    expect(others.message).to.contain(`a node writes only driver attach ${caller.node} and`);
    expect(await attach([])).to.equal(200);
    expect((await caller.read('EffectRecord', name)).code).to.match(denied);
    const { kind } = record;
    await caller.asRoot({ type: 'DELETE_BY_NAME', kind, name });
  });

  it('include its attachments, and handle and size of volumes on its own disk', async () => {
    const { volume } = workload(caller.daemon, 'idle', '');
    await caller.daemon.ok('POST', `${base}/volumes`, volume);
    const idle = await eventually('the volume', async () => {
      const found = await caller.daemon.ok('GET', `${base}/volumes/idle`);
      return found.status === 'Available' ? found : undefined;
    });
    expect(idle.topology).to.deep.equal({ 'svc.io/node': caller.node });
    expect((await caller.rest('GET', `${base}/volumes/idle`)).status).to.equal(200);
    const wholes = { ...idle, sizeBytes: '4096' };
    expect((await caller.rest('PUT', `${base}/volumes/idle/status`, wholes)).status).to.equal(200);
    expect((await caller.daemon.ok('GET', `${base}/volumes/idle`)).sizeBytes).to.equal('4096');
    const attachments = [{ claim: 'default/disk-0', node: caller.node, state: 'Reserved' }];
    const disk = `${base}/volumes/disk/status`;
    expect((await caller.rest('PUT', disk, { attachments })).status).to.equal(200);
    const stale = { attachments: [], metadata: { resourceVersion: '1' } };
    expect((await caller.rest('PUT', disk, stale)).body.status).to.equal('ABORTED');
    expect((await caller.rest('PUT', disk, { attachments: [] })).status).to.equal(200);
  });
});
