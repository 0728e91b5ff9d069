import { expect } from 'chai';
import { base, NodeCaller, type Refusal, refused } from './node-caller.js';

const where = { namespace: 'default' };

describe("attempts of a node's token other than status writes of volumes", function () {
  this.timeout(180_000);
  let caller: NodeCaller;
  before(async () => {
    caller = await NodeCaller.start();
  });
  after(() => caller[Symbol.asyncDispose]());

  const attempts: Readonly<
    Record<string, (here: string) => Promise<Refusal | readonly Refusal[]>>
  > = {
    'labels of its node': async (here) => [
      await caller.refusal('PUT', `/v1/nodes/${here}`, { name: here, labels: { far: 'away' } }),
      await caller.refusal('PUT', `/v1/nodes/${here}?dryRun=true`, {
        name: here,
        labels: { far: 'a' },
      }),
      await refused(
        caller.api.call('NodeService.Update', {
          name: here,
          node: { name: here, labels: { far: 'away' } },
        }),
      ),
      await caller.transact({
        type: 'OVERWRITE',
        kind: 'Node',
        name: here,
        object: JSON.stringify({ name: here, labels: { far: 'away' } }),
      }),
    ],
    'unschedulable of its node': async (here) => [
      await caller.refusal('PUT', `/v1/nodes/${here}`, { name: here, unschedulable: true }),
      await caller.transact({
        type: 'OVERWRITE',
        kind: 'Node',
        name: here,
        object: JSON.stringify({ name: here, unschedulable: true }),
      }),
    ],
    'another node': async () => [
      await caller.refusal('POST', '/v1/nodes', { name: 'elsewhere', labels: { far: 'away' } }),
      await caller.refusal('POST', '/v1/nodes?dryRun=true', { name: 'elsewhere' }),
      await caller.transact({ type: 'CREATE', kind: 'Node', name: 'elsewhere', object: '{}' }),
    ],
    'a node that is created again': (here) => caller.refusal('DELETE', `/v1/nodes/${here}`),
    'the node or template of an instance': async (here) => [
      await caller.refusal('PUT', `${base}/instances/elsewhere-0/status`, {
        node: here,
        status: 'Running',
      }),
      await caller.transact({
        type: 'OVERWRITE',
        kind: 'Instance',
        ...where,
        name: 'disk-0',
        object: JSON.stringify({ node: here, template: { envFrom: [{ secret: 'treasure' }] } }),
      }),
      await caller.transact({
        type: 'CREATE',
        kind: 'Instance',
        ...where,
        name: 'disk-9',
        object: '{}',
      }),
    ],
    'an instance that ends': (here) =>
      caller.refusal('DELETE', `${base}/instances/disk-0`, { here }),
    'a new service': async () => [
      await caller.refusal('POST', `${base}/services`, {
        name: 'thief',
        runtime: 'process',
        command: ['/bin/true'],
        envFrom: [{ secret: 'treasure' }],
      }),
      await caller.refusal('PUT', `${base}/services/disk`, {
        name: 'disk',
        envFrom: [{ secret: 'treasure' }],
      }),
      await caller.transact({
        type: 'OVERWRITE',
        kind: 'Service',
        ...where,
        name: 'disk',
        object: '{}',
      }),
    ],
    'parameters of a volume': async () => [
      await caller.refusal('PUT', `${base}/volumes/disk`, {
        parameters: { x: 'secret:treasure/token' },
      }),
      await caller.refusal('PUT', `${base}/volumes/disk?dryRun=true`, { size: '2Gi' }),
      await caller.transact({
        type: 'OVERWRITE',
        kind: 'Volume',
        ...where,
        name: 'disk',
        object: '{"parameters":{"x":"secret:treasure/token"}}',
      }),
    ],
    'labels and annotations of a volume': () =>
      caller.refusal('PUT', `${base}/volumes/disk`, {
        labels: { node: 'here' },
        metadata: { annotations: { node: 'here' } },
      }),
    'a new volume or snapshot': async () => [
      await caller.refusal('POST', `${base}/volumes`, { name: 'loot' }),
      await caller.refusal('POST', `${base}/snapshots`, {
        name: 'loot',
        source: { volume: 'foreign' },
      }),
    ],
    'a class': () =>
      caller.refusal('PUT', '/v1/storageclasses/cloud', {
        parameters: { x: 'secret:treasure/token' },
      }),
    'a cast': async (here) => [
      await caller.refusal('POST', '/v1/cast', {
        objects: [{ kind: 'Node', object: { name: here, labels: { far: 'away' } } }],
      }),
      await caller.refusal('POST', '/v1/cast', {
        dryRun: true,
        objects: [{ kind: 'Secret', object: { name: 'treasure', data: { token: 'sesame' } } }],
      }),
      await refused(
        caller.api.call('CastService.Cast', {
          objects: [{ kind: 'Volume', object: { name: 'disk', size: '1Gi' } }],
        }),
      ),
    ],
    'records of volumes that its node does not own': async () => {
      const uidOf = async (name: string): Promise<string> => {
        const { metadata } = await caller.daemon.ok('GET', `${base}/volumes/${name}`);
        return String((metadata as { readonly uid: unknown }).uid);
      };
      const [mine, foreign, disk] = await Promise.all(['mine', 'foreign', 'disk'].map(uidOf));
      const record = (name: unknown, key: string, of = 'Volume') => ({
        kind: 'EffectRecord',
        name,
        object: JSON.stringify({ name, of, key, effects: {} }),
      });
      const create = (...given: Parameters<typeof record>): Promise<Refusal> =>
        caller.transact({ type: 'CREATE', ...record(...given) });
      const created = [
        await create('x', 'default/mine'),
        await create(foreign, 'default/mine'),
        await create(mine, 'default/foreign'),
        await create(mine, 'default/mine', 'Snapshot'),
        // An instance of the node waits for this volume, which is not on the node yet.
        await create(disk, 'default/disk'),
        await create(foreign, 'default/foreign'),
      ];
      await caller.asRoot({ type: 'CREATE', ...record(foreign, 'default/foreign') });
      return [
        ...created,
        await caller.read('EffectRecord', String(foreign)),
        await caller.transact({ type: 'OVERWRITE', ...record(foreign, 'default/foreign') }),
        await caller.transact({ type: 'OVERWRITE', ...record(foreign, 'default/mine') }),
        await caller.transact({ type: 'DELETE_BY_NAME', kind: 'EffectRecord', name: foreign }),
        await caller.transact({ type: 'CREATE', kind: 'ReconcileRecord', name: 'x', object: '{}' }),
      ];
    },
    'operations of its own volume that controllers own': async () => {
      const { metadata } = await caller.daemon.ok('GET', `${base}/volumes/mine`);
      const name = (metadata as { readonly uid: unknown }).uid;
      const own = { idempotencyKey: 'k', controller: 'agent', key: 'default/mine', startedAt: 1 };
      const record = (type: string, effects: object) => {
        const object = JSON.stringify({ name, of: 'Volume', key: 'default/mine', effects });
        return caller.transact({ type, kind: 'EffectRecord', name, object });
      };
      const called = { phase: 'called', ...own };
      const created = [
        // With an effect of this name, the volume could no longer be deleted: no process removes the effect.
        await record('CREATE', { x: called }),
        await record('CREATE', { 'driver delete': { ...called, phase: 'done', result: null } }),
      ];
      const attach = { 'driver attach': called };
      expect((await record('CREATE', attach)).code).to.equal('OK');
      const effects = { ...attach, 'driver expand': called };
      const object = JSON.stringify({ name, of: 'Volume', key: 'default/mine', effects });
      await caller.asRoot({ type: 'OVERWRITE', kind: 'EffectRecord', name, object });
      expect((await record('OVERWRITE', { 'driver expand': called })).code).to.equal('OK');
      const changed = [
        await record('OVERWRITE', {}),
        await record('OVERWRITE', { 'driver expand': { ...called, startedAt: 2 } }),
        await caller.transact({ type: 'DELETE_BY_NAME', kind: 'EffectRecord', name }),
      ];
      await caller.asRoot({ type: 'DELETE_BY_NAME', kind: 'EffectRecord', name });
      return [...created, ...changed];
    },
    'finalizers and owners': async (here) => [
      await caller.transact({
        type: 'OVERWRITE',
        kind: 'Instance',
        ...where,
        name: 'disk-0',
        object: '{"metadata":{"finalizers":["svc.io/agent","mine"]}}',
      }),
      await caller.transact({
        type: 'OVERWRITE',
        kind: 'Instance',
        ...where,
        name: 'elsewhere-0',
        object: '{"metadata":{"finalizers":[]}}',
      }),
      await caller.transact({
        type: 'OVERWRITE',
        kind: 'Volume',
        ...where,
        name: 'disk',
        object: '{"metadata":{"finalizers":[]}}',
      }),
      await caller.transact({
        type: 'OVERWRITE',
        kind: 'Node',
        name: here,
        object: JSON.stringify({ name: here, metadata: { finalizers: ['mine'] } }),
      }),
      await caller.transact({
        type: 'OVERWRITE',
        kind: 'Node',
        name: here,
        object: JSON.stringify({
          name: here,
          metadata: { ownerReferences: [{ kind: 'Volume', name: 'foreign', uid: 'x' }] },
        }),
      }),
    ],
    'an account or a token': async (here) => [
      await caller.refusal('POST', '/v1/admin/users', {
        name: 'x',
        policies: ['node'],
        node: here,
      }),
      await caller.refusal('PUT', '/v1/admin/users/agent', { name: 'agent', node: 'elsewhere' }),
      await caller.refusal('POST', '/v1/auth/tokens', { subject: 'root' }),
    ],
    'a comparison with a value that it may not read': async () => [
      await caller.transact({
        type: 'CHECK',
        kind: 'Secret',
        ...where,
        name: 'treasure',
        precondition: { fields: { 'data.token': '"sesame"' } },
      }),
      await caller.transact({
        type: 'UPDATE_STATUS',
        kind: 'Volume',
        ...where,
        name: 'foreign',
        object: '{}',
        precondition: { fields: { status: '"Pending"' } },
      }),
    ],
    'the status of an instance of another node': async () =>
      Object.values(await caller.write('Instance', 'elsewhere-0', { status: 'Running' })),
    'an event about a foreign object, or in a foreign namespace': async (here) => {
      const event = { name: 'lie', type: 'Warning', reason: 'Lie' };
      const foreign = { kind: 'Volume', namespace: 'default', name: 'foreign', uid: 'x' };
      const mine = { ...foreign, name: 'mine' };
      await caller.daemon.ok('POST', '/v1/namespaces', { name: 'others' });
      const others = '/v1/namespaces/others/events';
      return [
        await caller.refusal('POST', `${base}/events`, { ...event, regarding: foreign }),
        await caller.refusal('POST', others, { ...event, regarding: mine }),
        await caller.refusal('POST', others, { ...event, regarding: { kind: 'Node', name: here } }),
      ];
    },
  };
  for (const [what, attempt] of Object.entries(attempts))
    it(`gains nothing by ${what}`, async () => {
      const refusals = [await attempt(caller.node)].flat();
      for (const [at, { code, message }] of refusals.entries())
        expect(code, `${at}: ${message}`).to.match(
          /PERMISSION_DENIED|PermissionDenied|UNIMPLEMENTED|Unimplemented/,
        );
      expect(await caller.treasure()).to.equal(403);
      expect((await caller.rest('GET', `${base}/volumes/foreign`)).status).to.equal(403);
      expect((await caller.rest('GET', `${base}/instances/elsewhere-0`)).status).to.equal(403);
    });
});
