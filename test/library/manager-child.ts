// A complete program: a manager with one reconciler. Arguments: directory.
import {
  type ApiObject,
  defineKind,
  done,
  LevelEngine,
  Manager,
  newController,
  openStore,
} from 'kedge';

const lamps = defineKind<ApiObject>({
  kind: 'Lamp',
  plural: 'lamps',
  scope: 'Cluster',
  statusFields: [],
});
await using store = await openStore({
  engine: new LevelEngine({ directory: process.argv[2] ?? '' }),
});
const manager = new Manager({ store });
const reconcile = async ({ key }: { key: { name: string } }) => {
  console.log(`reconciled ${key.name}`);
  return done();
};
manager.addController(newController({ name: 'lamp', reconcile }).for(manager.informer(lamps)));
if (!(await store.get(lamps, { name: 'hall' }))) await store.create(lamps, { name: 'hall' });
await manager.run();
console.log(`stopped, the manager is ${manager.state}`);
