import { expect } from 'chai';
import { type Clock, seededRandom, StatusError, systemClock } from '../../base/index.js';
import { declareKind, string } from '../../object/index.js';
import { baseDescriptors, type JsonObject, SchemaRegistry } from '../../rpc/index.js';
import { MemoryEngine, type ObjectStore, openStore } from '../../store/index.js';
import { accessControl, type Identity } from '../auth/index.js';
import type { CallContext } from '../api/call.js';
import { castMethod } from './cast-method.js';
import { describeKinds } from '../api/describe-kinds.js';
import { InputSchemas } from '../schema/input-schemas.js';
import { mount } from '../api/mounted-kinds.js';
import { ValidatedWrites } from '../admission/validated-writes.js';
import { Admission } from '../admission/admission.js';

const never = new AbortController().signal;

const lamps = declareKind({
  kind: 'Lamp',
  plural: 'lamps',
  scope: 'Namespaced',
  fields: { room: string({ maxLength: 9 }) },
});

/** A cast method for a caller with rights to these verbs. */
function castOver(
  store: ObjectStore,
  verbs: ReadonlySet<string>,
  clock: Clock = systemClock,
): (objects: readonly JsonObject[]) => Promise<unknown> {
  const api = describeKinds('cast.v1', [mount(lamps)]);
  const served = new Map(api.kinds.map((kind) => [kind.kind.kind, kind]));
  const authorizer = accessControl((_identity, { verb }) => verbs.has(verb));
  const admission = new Admission({
    store,
    authorizer,
    objectAccess: undefined,
    schemas: api.schemas,
    inputs: new InputSchemas(api.schemas),
    served,
    base: new SchemaRegistry(baseDescriptors),
    namespaces: undefined,
    clock,
  });
  const requireUnnarrowed = (): void => undefined;
  const beside = { clock, random: seededRandom(1) };
  const writes = new ValidatedWrites({ store, admission, ...beside });
  const options = { store, admission, writes, authorizer, served, requireUnnarrowed, clock };
  const { handler } = castMethod(options);
  if (handler.type !== 'unary') throw new TypeError('a cast');
  const context = { identity: {} as Identity, signal: never } as CallContext;
  return (objects) =>
    handler.call(context, { objects: objects.map((object) => ({ kind: 'Lamp', object })) });
}

describe('a cast', () => {
  it('of 1,000 objects, valid or not, yields to other work while it is validated', async () => {
    await using store = await openStore({ engine: new MemoryEngine() });
    let age = 0;
    let pauses = 0;
    // Each read of the clock takes a millisecond of the turn.
    const clock: Clock = {
      ...systemClock,
      turnAgeMs: () => (age += 1),
      defer: (callback) => {
        pauses += 1;
        age = 0;
        systemClock.defer(callback);
      },
    };
    const castObjects = castOver(store, new Set(['create']), clock);
    const lampsIn = (room: string) =>
      Array.from({ length: 1_000 }, (_, n) => ({ name: `l${n}`, namespace: 'home', room }));
    const outcome = await castObjects(lampsIn('a room with a long name')).then(
      () => 'OK',
      (error: unknown) => StatusError.from(error).code,
    );
    expect(outcome).to.equal('InvalidArgument');
    // 4,000 steps, with a pause after 4 ms: two passes for rights, one for shapes and one for names.
    expect(pauses).to.be.greaterThan(900);
    pauses = 0;
    await castObjects(lampsIn('hall'));
    expect(pauses).to.be.greaterThan(1_500);
  });

  it('of an object that was created concurrently needs the right to update it', async () => {
    await using store = await openStore({ engine: new MemoryEngine() });
    const verbs = new Set(['create']);
    const castObjects = castOver(store, verbs);
    const cast = async (room: string): Promise<string> =>
      castObjects([{ name: 'a', namespace: 'home', room }]).then(
        () => 'OK',
        (error: unknown) => StatusError.from(error).reason,
      );
    const stored = () => store.get(lamps, { namespace: 'home', name: 'a' });
    const transact = store.transact.bind(store);
    // Another writer creates the object between validation and commit.
    store.transact = async (operations) => {
      store.transact = transact;
      await store.create(lamps, { name: 'a', namespace: 'home', room: 'hall' });
      return transact(operations);
    };
    expect(await cast('attic')).to.equal('PermissionDenied');
    expect((await stored())?.room).to.equal('hall');
    verbs.add('update');
    expect(await cast('attic')).to.equal('OK');
    expect((await stored())?.room).to.equal('attic');
  });

  it('of an object without a name is refused with its position, among all other violations', async () => {
    await using store = await openStore({ engine: new MemoryEngine() });
    const cast = castOver(store, new Set(['create', 'update']));
    const objects = [
      { name: 'a', namespace: 'home', room: 'hall' },
      { name: '', namespace: 'home', room: 'much too long' },
    ];
    const error = await cast(objects).then(
      () => expect.fail('it was not refused'),
      (thrown: unknown) => StatusError.from(thrown),
    );
    const fields = error.violations.map(({ field }) => field.replace(/^.*\./, ''));
    expect(fields).to.include.members(['name', 'room']);
  });
});
