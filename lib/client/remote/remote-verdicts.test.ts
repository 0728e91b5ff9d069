import { expect } from 'chai';
import fc from 'fast-check';
import { StatusError } from '../../base/index.js';
import { type AnyKind, type ApiObject, kindOf } from '../../object/index.js';
import {
  accessControl,
  ApiServer,
  describeKinds,
  type Identity,
  mount,
} from '../../server/index.js';
import {
  type EmbeddedStore,
  MemoryEngine,
  type ObjectStore,
  openStore,
  type Operation,
  type OperationResult,
  type Precondition,
} from '../../store/index.js';
import { RemoteStore } from './remote-store.js';

interface Lamp extends ApiObject {
  readonly watts?: number;
  readonly seen?: number;
}
const init = { scope: 'Namespaced', statusFields: ['seen'] } as const;
const lamps = kindOf<Lamp>()({
  ...init,
  kind: 'Lamp',
  plural: 'lamps',
  indexes: { watts: ({ namespace, watts = 0 }) => [`${namespace ?? ''}/${watts}`] },
});
const rooms = kindOf<Lamp>()({ ...init, kind: 'Room', plural: 'rooms', rarelyWritten: true });
const fields = { watts: 'integer', seen: 'integer' } as const;
const api = describeKinds('house.v1', [mount(lamps, fields), mount(rooms, fields)]);
const root: Identity = {
  ...{ subject: 'root', kind: 'user', policies: [], tokenId: '' },
  expiresAt: undefined,
};

/** A uid that no object has. */
const unusedUid = '00000000-0000-4000-8000-000000000000';

/** An operation without uids and revisions, which differ between the stores. */
type Draft = {
  readonly kind: 'Lamp' | 'Room';
  readonly name: string;
  readonly watts: number;
  readonly isHeld: boolean;
  readonly guard: Guard;
} & (
  | { readonly op: Exclude<Operation['op'], 'checkKind'> }
  | {
      readonly op: 'checkKind';
      readonly by: 'watts' | 'namespace' | 'everything';
      readonly ago: number;
    }
);

/** Parts of a precondition. Each matches the stored object, an earlier one, or none. */
interface Guard {
  readonly uid: 'stored' | 'former' | 'none';
  readonly version: 'stored' | 'former' | 'none';
  readonly generation: number | undefined;
  readonly fields: readonly ('watts' | 'seen' | 'metadata.generation')[];
  readonly isNotDeleting: boolean;
  readonly isAbsent: boolean;
}

const which = fc.constantFrom('stored', 'stored', 'former', 'none');
const guard: fc.Arbitrary<Guard> = fc.record({
  uid: which,
  version: which,
  generation: fc.option(fc.integer({ min: 1, max: 3 }), { nil: undefined, freq: 2 }),
  fields: fc.uniqueArray(fc.constantFrom('watts', 'seen', 'metadata.generation'), { maxLength: 2 }),
  isNotDeleting: fc.boolean(),
  isAbsent: fc.boolean(),
});
const common = {
  kind: fc.constantFrom('Lamp' as const, 'Lamp' as const, 'Room' as const),
  name: fc.constantFrom('a', 'b', 'c'),
  // Never 0: an API does not distinguish it from an absent number.
  watts: fc.integer({ min: 1, max: 3 }),
  isHeld: fc.boolean(),
  guard,
};
const draft: fc.Arbitrary<Draft> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      ...common,
      op: fc.constantFrom(
        ...(['create', 'create', 'update', 'overwrite', 'updateStatus'] as const),
        ...(['delete', 'deleteByName', 'check'] as const),
      ),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      ...common,
      op: fc.constant('checkKind' as const),
      by: fc.constantFrom('watts' as const, 'namespace' as const, 'everything' as const),
      ago: fc.integer({ min: 0, max: 4 }),
    }),
  },
);

const unguarded: Guard = {
  ...{ uid: 'none', version: 'none', generation: undefined, fields: [] },
  ...{ isNotDeleting: false, isAbsent: false },
};
const base = { kind: 'Lamp', name: 'a', watts: 3, isHeld: false, guard: unguarded } as const;
/** A check of a kind that no longer holds, before a write that fails. */
const overtaken: Draft[][] = [
  [{ ...base, op: 'create' }],
  [
    { ...base, op: 'checkKind', by: 'watts', ago: 1 },
    { ...base, name: 'b', op: 'updateStatus' },
  ],
];

/** One of the two stores. Every run has its own namespace. */
class Side {
  readonly #writes: ObjectStore;
  readonly #reads: EmbeddedStore;
  readonly #namespace: string;
  readonly #first: number;
  /** An earlier read of each object. */
  readonly #former = new Map<string, ApiObject>();

  constructor(writes: ObjectStore, reads: EmbeddedStore, namespace: string) {
    this.#writes = writes;
    this.#reads = reads;
    this.#namespace = namespace;
    this.#first = reads.revision;
  }

  /** The outcome of a transaction in a form that is the same for both stores. */
  async verdict(drafts: readonly Draft[]): Promise<unknown> {
    const operations: Operation[] = [];
    for (const one of drafts) operations.push(await this.#operation(one));
    try {
      const results = await this.#writes.transact(operations);
      return results.map((result) => this.#shown(result));
    } catch (error) {
      if (!(error instanceof StatusError)) throw error;
      return { code: error.code, reason: error.reason };
    }
  }

  async content(): Promise<unknown> {
    const found = [lamps, rooms].map((kind) =>
      this.#reads.list(kind, { namespace: this.#namespace }),
    );
    return (await Promise.all(found)).map(({ items }) =>
      items.map((object) => this.#shown({ object, exists: true, changed: false })),
    );
  }

  #shown({ object, exists, changed }: OperationResult): object {
    // The API shows absent fields with their zero value.
    const { metadata, name, namespace, watts = 0, seen = 0 } = object as Lamp;
    const { resourceVersion, generation, finalizers, deletionRequestedAt } = metadata;
    const revision = resourceVersion === '' ? '' : Number(resourceVersion) - this.#first;
    const isDeleting = deletionRequestedAt !== undefined;
    const about = { generation, finalizers: finalizers ?? [], isDeleting, revision };
    const content = { name, namespace, watts, seen };
    return { ...content, ...about, isThere: metadata.uid !== '', exists, changed };
  }

  async #operation(draft: Draft): Promise<Operation> {
    const { op, name, watts } = draft;
    const typed = draft.kind === 'Lamp' ? lamps : rooms;
    const kind = typed as AnyKind;
    const key = { namespace: this.#namespace, name };
    const id = `${draft.kind} ${name}`;
    // Read through the store under test: the API shows fields that are absent in the store.
    const stored = await this.#writes.get(typed, key);
    const former = this.#former.get(id);
    if (stored && (!former || watts === 1)) this.#former.set(id, stored);
    const precondition = preconditionOf(draft.guard, stored, former);
    const metadata = draft.isHeld ? { finalizers: ['kedge.test/held'] } : {};
    const object = { ...key, watts, metadata };
    const version = { uid: unusedUid, resourceVersion: '1', ...precondition };
    switch (op) {
      case 'create':
      case 'overwrite':
        return { op, kind, object };
      case 'update':
        return { op, kind, object, precondition: version };
      case 'updateStatus':
        return { op, kind, key, status: { seen: watts }, precondition };
      case 'delete':
        return { op, kind, key, precondition: { uid: unusedUid, ...precondition } };
      case 'deleteByName':
        return { op, kind, key, precondition };
      case 'check': {
        const absence = { exists: false } as const;
        // The API refuses a check without a precondition; in process such a check requires
        // existence.
        const required = { uid: unusedUid, ...precondition };
        return { op, kind, key, precondition: draft.guard.isAbsent ? absence : required };
      }
      case 'checkKind': {
        const revision = Math.max(this.#first, this.#reads.revision - draft.ago);
        const { by } = draft;
        if (by === 'everything') return { op, kind: rooms, revision };
        const value = by === 'watts' ? `${this.#namespace}/${watts}` : this.#namespace;
        return { op, kind: by === 'watts' ? lamps : kind, revision, index: by, value };
      }
    }
  }
}

function preconditionOf(
  { uid, version, generation, fields: compared, isNotDeleting }: Guard,
  stored: Lamp | undefined,
  former: ApiObject | undefined,
): Precondition {
  const from = { stored: stored?.metadata, former: former?.metadata, none: undefined };
  const values: Readonly<Record<string, unknown>> = {
    watts: stored?.watts,
    seen: stored?.seen,
    'metadata.generation': (former ?? stored)?.metadata.generation,
  };
  const known = compared.map((path) => [path, values[path]] as const).filter(([, value]) => value);
  const [givenUid, resourceVersion] = [from[uid]?.uid, from[version]?.resourceVersion];
  return {
    ...(givenUid === undefined ? {} : { uid: givenUid }),
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
    ...(generation === undefined ? {} : { generation }),
    ...(isNotDeleting ? { deleting: false } : {}),
    ...(known.length === 0 ? {} : { fields: Object.fromEntries(known) }),
  };
}

describe('transactions over a store in another process, compared with those in process', function () {
  this.timeout(180_000);
  let here: EmbeddedStore;
  let served: EmbeddedStore;
  let server: ApiServer;
  let remote: RemoteStore;

  before(async () => {
    [here, served] = await Promise.all([
      openStore({ engine: new MemoryEngine() }),
      openStore({ engine: new MemoryEngine() }),
    ]);
    server = new ApiServer({
      store: served,
      ...api,
      authenticator: { authenticate: () => Promise.resolve(root) },
      authorizer: accessControl(() => true),
    });
    const any = { host: '127.0.0.1', port: 0 };
    const { grpc } = await server.listen({ grpc: any, rest: any });
    remote = await RemoteStore.connect({ server: `127.0.0.1:${grpc}`, token: undefined });
  });
  after(async () => {
    await remote.close();
    await server.close();
    await Promise.all([here.close(), served.close()]);
  });

  it('get the same results, or the same code and reason, and leave the same objects', async () => {
    let runs = 0;
    const verdicts = new Set<string>();
    const transactions = fc.array(fc.array(draft, { minLength: 1, maxLength: 4 }), {
      maxLength: 12,
    });
    await fc.assert(
      fc.asyncProperty(transactions, async (lists) => {
        const namespace = `run-${(runs += 1)}`;
        const local = new Side(here, here, namespace);
        const other = new Side(remote, served, namespace);
        for (const drafts of lists) {
          const expected = await local.verdict(drafts);
          expect(await other.verdict(drafts)).to.deep.equal(expected);
          verdicts.add(Array.isArray(expected) ? 'done' : JSON.stringify(expected));
        }
        expect(await other.content()).to.deep.equal(await local.content());
      }),
      { numRuns: Number(process.env['KEDGE_VERDICT_RUNS'] ?? 60), examples: [[overtaken]] },
    );
    // Each outcome must occur, or the comparison shows little.
    for (const verdict of ['done', 'Aborted', 'NotFound', 'AlreadyExists'])
      expect([...verdicts].join(' ')).to.contain(verdict);
  });
});
