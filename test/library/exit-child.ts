// Starts a store, a manager, an elector, a recorder and a watch, disposes of them, and must then exit. Argument: directory.
import {
  type ApiObject,
  defineKind,
  done,
  EventRecorder,
  LeaderElector,
  LevelEngine,
  Manager,
  newController,
  newGarbageCollector,
  openStore,
} from 'kedge';

const lamps = defineKind<ApiObject>({
  kind: 'Lamp',
  plural: 'lamps',
  scope: 'Cluster',
  statusFields: [],
});
const stop = new AbortController();
{
  const engine = new LevelEngine({ directory: process.argv[2] ?? '' });
  await using store = await openStore({ engine });
  await using manager = new Manager({ store });
  const reconcile = async () => done();
  const controller = newController({ name: 'lamp', store, reconcile });
  manager.addController(controller.for(manager.informer(lamps)));
  manager.addController(newGarbageCollector({ store, kinds: [] }));
  await manager.start();
  const elector = new LeaderElector({ store, name: 'x', identity: 'me' });
  const nothing = (): void => undefined;
  const callbacks = { onStartedLeading: nothing, onStoppedLeading: nothing };
  const running = elector.run(callbacks, stop.signal);
  const expiresAt = new Date(Date.now() + 3_600_000).toISOString();
  const lamp = await store.create(lamps, { name: 'a', metadata: { expiresAt } });
  const recorder = new EventRecorder({ store, source: 'test' });
  recorder.record({ kind: 'Lamp', object: lamp }, 'Normal', 'Made', 'it was made');
  await recorder.flush();
  const signal = new AbortController().signal;
  // Never aborted: the end of the store must end it.
  void (async () => {
    for await (const batch of store.watch(lamps, { fromRevision: 0, signal })) void batch;
  })();
  await store.compact();
  stop.abort();
  await running;
}
console.log('closed');
