import { expect } from 'chai';
import { MemoryEngine, openStore } from 'kedge';
import { FakeClock } from 'kedge/testing';
import { instances } from '../../instance/kind.js';
import { InstanceNotes } from './instance-notes.js';

describe('the condition LimitsEnforced', () => {
  it('is False while the runtime does not enforce them, True once it does, and absent if it always did', async () => {
    await using store = await openStore({ engine: new MemoryEngine() });
    const key = { namespace: 'default', name: 'web-0' };
    const created = await store.create(instances, {
      ...{ ...key, service: 'web', ordinal: 0, template: {} },
    });
    const notes = new InstanceNotes({ store, clock: new FakeClock() });
    const run = async (unenforced?: string) => {
      const instance = (await store.get(instances, key)) ?? created;
      const state = { state: 'running' as const, run: 1, pid: 1, startedAt: 1 };
      await notes.running(instance, {
        state: { ...state, ...(unenforced !== undefined && { unenforced }) },
        mounts: [],
        files: undefined,
        readyInMs: 0,
        backoff: undefined,
      });
      const { conditions } = (await store.get(instances, key)) ?? created;
      const found = conditions?.find(({ type }) => type === 'LimitsEnforced');
      return found && [found.status, found.reason, found.message];
    };
    expect(await run()).to.equal(undefined);
    expect(await run('limits of memory are not')).to.deep.equal([
      ...['False', 'LimitsNotEnforced', 'limits of memory are not'],
    ]);
    expect(await run()).to.deep.equal([
      'True',
      'LimitsEnforced',
      'all limits of the workload are enforced',
    ]);
  });
});
