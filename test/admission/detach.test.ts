import { instances, nodes, volumes } from '@kedge/controllers';
import { expect } from 'chai';
import { reachState } from 'kedge/testing';
import { ValidatedApi } from './validated-api.js';

const path = '/v1/namespaces/default/volumes';
const key = { namespace: 'default', name: 'v' };

describe('detach of a volume that is attached to several nodes', () => {
  let api: ValidatedApi;
  beforeEach(async () => {
    api = await ValidatedApi.start();
    const shape = { size: '1Gi', accessMode: 'ReadOnlyMany', storageClassName: 'shared' } as const;
    await api.store.create(volumes, { ...key, ...shape });
    for (const [node, status] of [
      ['alive', 'Ready'],
      ['off', 'NotReady'],
    ] as const) {
      await api.store.create(nodes, { name: node });
      await api.store.updateStatus(nodes, { name: node }, { status });
      const instance = { namespace: 'default', name: `on-${node}`, service: 's', ordinal: 0 };
      await api.store.create(instances, { ...instance, template: {} });
    }
    await has('alive', 'off');
  });
  afterEach(() => api[Symbol.asyncDispose]());

  async function has(...names: readonly string[]): Promise<void> {
    const attachments = names.map((node) => {
      return { claim: `default/on-${node}`, node, state: 'Attached' as const };
    });
    await reachState(api.store, volumes, key, 'Bound', { driver: 'local', attachments });
  }
  async function states(): Promise<unknown> {
    const { attachments = [] } = (await api.store.get(volumes, key)) ?? {};
    return Object.fromEntries(attachments.map(({ node, state }) => [node, state]));
  }

  it('with force detaches it only from nodes that do not answer', async () => {
    await api.ok('POST', `${path}/v:detach`, { force: true });
    expect(await states()).to.deep.equal({ alive: 'Attached', off: 'Detaching' });
  });

  it('without force detaches it only from nodes of deleted claims', async () => {
    await api.store.deleteByName(instances, { namespace: 'default', name: 'on-alive' });
    await api.ok('POST', `${path}/v:detach`, {});
    expect(await states()).to.deep.equal({ alive: 'Detaching', off: 'Attached' });
  });

  it('is refused without such a node, and names the node for which force is possible', async () => {
    const silent = await api.rest('POST', `${path}/v:detach`, {});
    expect(silent.status).to.equal(412);
    expect(JSON.stringify(silent.body)).to.contain('"NodeLost"').and.to.contain('use --force');
    await api.store.updateStatus(nodes, { name: 'off' }, { status: 'Ready' });
    const used = await api.rest('POST', `${path}/v:detach`, { force: true });
    expect(used.status).to.equal(412);
    expect(JSON.stringify(used.body)).to.contain('"InUse"').and.to.contain('which is Ready');
    expect(await states()).to.deep.equal({ alive: 'Attached', off: 'Attached' });
  });
});
