import { randomBytes } from 'node:crypto';
import { expect } from 'chai';
import {
  type Controller,
  Manager,
  MemoryEngine,
  openStore,
  seededRandom,
  silentLogger,
} from 'kedge';
import { FakeClock, settle } from 'kedge/testing';
import { secrets } from '../../secret/kind.js';
import { storageClasses } from '../../storage-class/kind.js';
import { volumes } from '../kind.js';
import { defaultPolicy } from '../../policy/policy.js';
import { parameterResolver, Sealer } from '../../secret/index.js';
import { PlayedDriver } from '../../testing/played-driver.js';
import { volumeFinalizer } from '../admission.js';
import { volumeController } from './controller.js';

describe('the cost of a volume', () => {
  it('a volume becomes Available in one run and two transactions after its creation', async () => {
    const clock = new FakeClock();
    const random = seededRandom(1);
    const store = await openStore({ engine: new MemoryEngine(), clock });
    const manager = new Manager({ store, clock, random });
    const resolver = parameterResolver(
      manager.informer(secrets).lister,
      new Sealer(randomBytes(32)),
    );
    const drivers = new PlayedDriver().registry();
    const ports = { store, manager, clock, random, logger: silentLogger, policy: defaultPolicy };
    const controller: Controller = volumeController({ ...ports, drivers, resolver, node: 'n' });
    manager.addController(controller);
    await store.create(storageClasses, { name: 'c', driver: 'played', reclaimPolicy: 'delete' });
    await manager.start();
    await settle();
    const { reconciles } = controller.stats();
    await store.create(volumes, {
      namespace: 'default',
      name: 'v',
      storageClassName: 'c',
      size: '1Gi',
      accessMode: 'ReadWriteOnce',
      metadata: { finalizers: [volumeFinalizer] },
    });
    const { revision } = store;
    await settle();
    const volume = await store.get(volumes, { namespace: 'default', name: 'v' });
    expect(volume?.status).to.equal('Available');
    expect(controller.stats().reconciles - reconciles, 'runs').to.equal(1);
    expect(store.revision - revision, 'transactions: the intent and the result').to.equal(2);
    const stopping = manager.stop(0);
    await clock.advance(10_000);
    await stopping;
    await store.close();
  });
});
