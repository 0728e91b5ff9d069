import { randomUUID } from 'node:crypto';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { eventually } from 'kedge/testing';
import {
  type Driver,
  type DriverError,
  memoryOperations,
  operationIdOf,
  type Operations,
  type ProvisionRequest,
} from '@kedge/driver-sdk';
import { cleanUp } from './devices.js';
import { loopCloud } from './loop-cloud.js';
import { ProviderProcess } from './provider/process.js';

describe('a driver of a provider in another process', function () {
  this.timeout(180_000);
  let folder: string;
  let provider: ProviderProcess;
  let driver: Driver;
  let operations: Operations;
  let request: ProvisionRequest;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kedge-cloud-'));
    provider = await ProviderProcess.start(folder, { here: 'i-1' });
    driver = loopCloud({ folder });
    operations = memoryOperations();
    request = {
      volume: { uid: randomUUID(), name: 'v', namespace: 'default' },
      parameters: {},
      node: 'here',
      signal: new AbortController().signal,
      operations,
      sizeBytes: 1n << 20n,
      accessMode: 'ReadWriteOnce',
      topology: {},
    };
    await provider.pace({ type: 'onCommand' });
  });
  afterEach(async () => {
    await provider.end();
    await cleanUp(folder);
  });

  const refused = async (call: Promise<unknown>): Promise<DriverError> =>
    call.then(
      () => expect.fail('it succeeded'),
      (error: unknown) => error as DriverError,
    );
  const disks = async () => Object.values((await provider.state()).disks);

  it('an operation outlives kill -9 of the provider, and ends without a poll', async () => {
    await provider.pace({ type: 'after', ms: 3_000 });
    expect(await driver.provision(request)).to.deep.include({ type: 'pending' });
    await provider.end();
    await provider.run();
    await eventually('its end', async () => (await disks())[0]?.state === 'available');
    expect(await driver.provision(request)).to.deep.equal({
      handle: 'disk-1',
      sizeBytes: 1n << 20n,
    });
    expect(await operations.get('provision')).to.equal(undefined);
  });

  it('a call with another size under the key of a lost answer follows the operation that was begun', async () => {
    await provider.arm({ point: 'accepted', kind: 'provision', action: { type: 'drop' } });
    expect((await refused(driver.provision(request))).kind).to.equal('Unavailable');
    const key = await operations.get('provision');
    // The disk is not visible yet, as in a stale list: only the key finds it.
    await provider.endAll('failed');
    const larger = { ...request, sizeBytes: 2n << 20n };
    expect((await refused(driver.provision(larger))).message).to.contain('failed');
    expect(await operations.get('provision')).to.equal(undefined);
    expect(await driver.provision(larger)).to.deep.include({ type: 'pending' });
    expect((await operations.get('provision'))?.startsWith(String(key))).to.equal(false);
    expect(await disks()).to.have.length(1);
  });

  it('a throttling provider returns the delay before the retry', async () => {
    const action = { type: 'throttle', retryAfterSeconds: 7 } as const;
    await provider.arm({ point: 'arrived', kind: 'provision', action });
    const error = await refused(driver.provision(request));
    expect([error.kind, error.retryAfterMs]).to.deep.equal(['Throttled', 7_000]);
    expect(await disks()).to.deep.equal([]);
  });

  it('an operation that may not be observed is a Timeout that names it, and its id is kept', async () => {
    await provider.arm({ point: 'polled', kind: 'provision', action: { type: 'deny' } });
    const error = await refused(driver.provision(request));
    expect([error.kind, error.operation]).to.deep.equal(['Timeout', 'op-1']);
    expect(operationIdOf(await operations.get('provision'))).to.equal('op-1');
    await provider.endAll();
    expect(await driver.provision(request)).to.deep.include({ handle: 'disk-1' });
  });

  it('delete waits for a running creation, and leaves no resource', async () => {
    await driver.provision(request);
    const deletion = { ...request, handle: undefined };
    expect(await driver.delete(deletion)).to.deep.include({ type: 'pending' });
    expect((await disks())[0]?.state).to.equal('creating');
    await provider.pace({ type: 'after', ms: 1 });
    await provider.endAll();
    await driver.delete(deletion);
    expect(await disks()).to.deep.equal([]);
  });
});
