import { expect } from 'chai';
import { findCondition } from 'kedge';
import { settle } from 'kedge/testing';
import { problemOfStorage } from '../../cause/index.js';
import { StorageWorld } from '../../testing/storage-world.js';
import { type Volume, volumes } from '../kind.js';

const key = { namespace: 'default', name: 'v' };

describe('a volume that an earlier process left attached', () => {
  let world: StorageWorld;
  beforeEach(async () => {
    world = await StorageWorld.start();
    world.driver.provider = 'Somewhere';
    await world.writeSecret('t', 'dead');
    await world.createVolume({ parameters: { token: 'secret:t/key' } });
    const claim = 'default/i-0';
    await world.store.updateStatus(volumes, key, {
      status: 'Bound',
      boundClaim: claim,
      boundNode: 'n',
      attachments: [{ claim, node: 'n', state: 'Attached' }],
    });
    await settle();
    await world.clock.advance(1_000);
    world.driver.calls.length = 0;
  });
  afterEach(() => world.stop());

  const volume = async (): Promise<Volume> => (await world.volume()) ?? expect.fail('it is gone');
  const verified = async () => findCondition((await volume()).conditions, 'Verified');

  it('reports that its provider could not be called, and stays as it is', async () => {
    world.driver.fails = 'CredentialsRejected';
    await world.restart();
    await world.clock.advance(11_000);
    expect(world.driver.calls).to.deep.equal(['observe']);
    expect(await verified()).to.include({ status: 'False', reason: 'CredentialsRejected' });
    expect(problemOfStorage(await volume())?.message).to.match(
      /^the provider could not be asked whether it still exists and is attached: call 1; until it answers, nothing is detached/,
    );
    const { status, attachments, lastOperation } = await volume();
    expect(status).to.equal('Bound');
    expect(attachments).to.have.length(1);
    expect(lastOperation).to.include({ call: 'observe', outcome: 'CredentialsRejected' });
  });

  it('is verified at once with a new token, and after some minutes without one', async () => {
    world.driver.fails = 'CredentialsRejected';
    await world.restart();
    await world.clock.advance(11_000);
    await world.clock.advance(300_000);
    expect(world.driver.calls).to.deep.equal(['observe', 'observe']);
    world.driver.fails = undefined;
    await world.writeSecret('t', 'new');
    expect(world.driver.calls).to.have.length(3);
    expect(await verified()).to.equal(undefined);
    expect(problemOfStorage(await volume())).to.equal(undefined);
    await world.clock.advance(600_000);
    expect(world.driver.calls, 'nothing is open').to.have.length(3);
  });

  it('causes no call if its node adopts it without its provider', async () => {
    world.driver.adoptsOffline = true;
    await world.restart();
    await world.clock.advance(60_000);
    expect(world.driver.calls).to.deep.equal([]);
  });

  it('waits for the time of its slot when its provider limits the rate', async () => {
    world.driver.fails = 'Throttled';
    world.driver.retryAfterMs = 20_000;
    await world.restart();
    await world.clock.advance(11_000);
    expect(await verified()).to.equal(undefined);
    world.driver.fails = undefined;
    await world.clock.advance(20_000);
    expect(world.driver.calls).to.deep.equal(['observe', 'observe']);
  });
});
