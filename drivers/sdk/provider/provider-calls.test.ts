import { expect } from 'chai';
import { memoryOperations } from '../contract/operations.js';
import { DriverError } from '../errors/errors.js';
import { deleteFound } from './provider-calls.js';

describe('the deletion of a resource that was found by its name', () => {
  const fails = (kind: DriverError['kind']) => () => Promise.reject(new DriverError(kind, 'no'));
  const after = async (
    remove: () => Promise<void>,
    operations = memoryOperations(),
  ): Promise<string | undefined> => {
    await deleteFound({ operations, handle: undefined }, 'id', remove).catch(() => undefined);
    return operations.get('delete');
  };

  it('is recorded before the call', async () => {
    const operations = memoryOperations();
    let seen: string | undefined;
    await deleteFound({ operations, handle: undefined }, 'id', async () => {
      seen = await operations.get('delete');
    });
    expect(seen).to.equal('id');
  });

  it('is not called if the record is refused, such as that of a process that no longer leads', async () => {
    let calls = 0;
    const set = () => Promise.reject(new Error('not the leader'));
    const request = { operations: { ...memoryOperations(), set }, handle: undefined };
    const answer = deleteFound(request, 'id', () => Promise.resolve(void (calls += 1)));
    expect(await answer.catch(String)).to.contain('not the leader');
    expect(calls).to.equal(0);
  });

  it('stays recorded while it may have been executed, and not after a refusal', async () => {
    for (const kind of ['Timeout', 'Unavailable', 'Internal'] as const)
      expect(await after(fails(kind)), kind).to.equal('id');
    for (const kind of ['PermissionDenied', 'CredentialsRejected', 'Throttled', 'InUse'] as const)
      expect(await after(fails(kind)), kind).to.equal(undefined);
  });

  it('stays recorded after a rate limit if the answer of an earlier call was lost', async () => {
    const operations = memoryOperations();
    await after(fails('Timeout'), operations);
    expect(await after(fails('Throttled'), operations)).to.equal('id');
    expect(await after(fails('PermissionDenied'), operations)).to.equal(undefined);
  });

  it('needs no record for a handle, which no other resource has', async () => {
    const operations = memoryOperations();
    await deleteFound({ operations, handle: 'id' }, 'id', () => Promise.resolve());
    expect(await operations.get('delete')).to.equal(undefined);
  });
});
