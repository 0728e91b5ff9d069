// Pays jobs while it leads. Arguments: address of the server, token, identity, and a mode: `hang` for
// payments that never return, `beat` for writes beside the controller until one is refused,
// `patient` for a lease that outlives a restart of the server. Prints what happens, as lines of JSON.
import { done, Manager, newController, requeueAfter, StatusError } from 'kedge';
import { RemoteStore } from 'kedge/client';
import { jobs } from './jobs.js';

const [, , server = '', token = '', identity = '', mode = ''] = process.argv;
const say = (event: string, more: object = {}): void =>
  console.log(JSON.stringify({ event, identity, ...more }));

let endBeat: () => void = () => undefined;
const beaten = new Promise<void>((resolve) => {
  if (mode === 'beat') endBeat = resolve;
  else resolve();
});

const store = await RemoteStore.connect({ server, token, timeoutMs: 20_000 });
const manager = new Manager({
  store,
  leaderElection: {
    name: 'jobs',
    identity,
    leaseDurationMs: mode === 'patient' ? 30_000 : 6_000,
    renewDeadlineMs: mode === 'patient' ? 25_000 : 5_000,
    retryPeriodMs: 200,
    onLost: () => {
      say('lost');
      // Pending output is printed first.
      void beaten.then(() => process.exit(1));
    },
  },
});
const controller = newController({
  name: 'job',
  store: manager.store,
  reconcile: async (context) => {
    const { key } = context;
    const job = await manager.store.get(jobs, key);
    if (!job || job.paid) return done();
    const receipt = await context.effect(jobs, job, 'pay', async (idempotencyKey) => {
      say('paying', { job: key.name, idempotencyKey });
      if (mode === 'hang') await new Promise(() => undefined);
      return idempotencyKey;
    });
    return context.txn(async (txn) => {
      const current = await txn.get(jobs, key);
      if (current) txn.updateStatus(jobs, key, { paid: true, receipt, by: identity });
      say('paid', { job: key.name });
      // Survives a restart: it is a record of the store from the same commit.
      return requeueAfter(3_600_000);
    });
  },
});
manager.addController(controller.for(manager.informer(jobs)));
await manager.start();
say('ready');
await manager.elected();
say('leading');

// Writes of a leader beside its controllers, as fast as they are answered: those of a deposed leader are refused.
const write = async (n: number): Promise<void> => {
  const name = `beat-${identity}-${n}`;
  try {
    await manager.store.create(jobs, { namespace: 'beats', name, amount: n });
  } catch (error) {
    const { code, reason } = StatusError.from(error);
    say('refused', { code, reason, name });
    endBeat();
    return;
  }
  setTimeout(() => void write(n + 1), 20);
};
if (mode === 'beat') void write(0);
