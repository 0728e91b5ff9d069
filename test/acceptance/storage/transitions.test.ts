import { descriptorSet } from '@kedge/api';
import { type VolumePhase, volumes } from '@kedge/controllers';
import { expect } from 'chai';
import { ApiClient, RemoteStore } from 'kedge/client';
import { SchemaRegistry } from 'kedge/rpc';
import { base, denied, NodeCaller, type Refusal, refused } from '../nodes/node-caller.js';

const key = { namespace: 'default', name: 'mine' };

describe('the phase of a volume that a workload uses', function () {
  this.timeout(180_000);
  let caller: NodeCaller;
  before(async () => {
    caller = await NodeCaller.start();
  });
  after(() => caller[Symbol.asyncDispose]());

  /** The same status write with all rights, by every method. */
  async function write(status: { readonly status: VolumePhase }): Promise<Record<string, Refusal>> {
    const { daemon } = caller;
    const { status: code, body } = await daemon.rest('PUT', `${base}/volumes/mine/status`, status);
    const rest = { code: code === 412 ? String(body.reason) : String(code), message: body.message };
    const connection = { server: daemon.grpcAddress, token: daemon.token };
    const schemas = new SchemaRegistry(descriptorSet);
    await using store = await RemoteStore.connect(connection);
    const client = new ApiClient({ ...connection, schemas, packageName: 'api' });
    try {
      return {
        rest: { ...rest, message: String(rest.message) },
        grpc: await refused(client.call('VolumeService.UpdateStatus', { ...key, volume: status })),
        'remote store': await refused(store.updateStatus(volumes, key, status)),
        transaction: await refused(
          store.transact([
            { op: 'updateStatus', kind: volumes, key, status: { reason: 'Mine' } },
            { op: 'updateStatus', kind: volumes, key, status },
          ]),
        ),
      };
    } finally {
      client.close();
    }
  }

  it('can not be set to Released or Pending with any rights, and the volume is not recreated', async () => {
    const path = `${base}/volumes/mine`;
    const before = await caller.daemon.ok('GET', path);
    expect(before).to.include({ status: 'Bound', boundClaim: 'default/mine-0' });
    for (const status of ['Released', 'Pending', 'Provisioning'] as const)
      for (const [way, refusal] of Object.entries(await write({ status }))) {
        expect(refusal.code, `${status} by ${way}`).to.match(
          /^(IllegalTransition|FailedPrecondition)$/,
        );
        expect(refusal.message, way).to.contain(
          `Volume "default/mine" has an invalid transition of status from Bound to "${status}"; allowed: Available, Stalled, Failed`,
        );
      }
    const after = await caller.daemon.ok('GET', path);
    expect(after.metadata, 'nothing was written').to.deep.equal(before.metadata);
    expect((await caller.daemon.ok('GET', `${base}/instances/mine-0`)).status).to.equal('Running');
  });

  it('can not be set to Released or Pending by the token of its node', async () => {
    for (const status of ['Released', 'Pending'])
      for (const [way, refusal] of Object.entries(await caller.write('Volume', 'mine', { status })))
        expect(refusal.code, `${status} by ${way}`).to.match(denied);
  });
});
