import { type Clock, hasCode, StatusError } from '../../base/index.js';
import { formatCursor, revisionIn } from '../../object/index.js';
import { type JsonObject, type StandardVerb, textOf } from '../../rpc/index.js';
import { storeClosed } from '../../store/engine/store-closed.js';
import type { ObjectStore, StoreHealth } from '../../store/index.js';
import type { AccessControl } from '../auth/index.js';
import type { CallContext, CustomMethod, MethodAccess } from '../api/call.js';
import type { ExposedKinds } from './exposed-kinds.js';
import type { ValidatedWrites } from '../admission/validated-writes.js';
import { parseOperations } from './object-operations.js';
import { ObjectTransactions } from './object-transactions.js';
import { recordedOperations } from './recorded-sets.js';
import { requestNamespace } from './request-key.js';
import type { Resources } from './resources.js';
import type { WritePlanner } from '../admission/write-planner.js';

/** Options of the object service. */
export interface ObjectServiceOptions {
  readonly store: ObjectStore;
  readonly kinds: ExposedKinds;
  readonly authorizer: AccessControl;
  readonly resources: Resources;
  readonly planner: WritePlanner;
  readonly writes: ValidatedWrites;
  readonly clock: Clock;
}

const states: Readonly<Record<Exclude<StoreHealth['state'], 'closed' | 'unreachable'>, string>> = {
  serving: 'SERVING',
  full: 'FULL',
  poisoned: 'POISONED',
};

/**
 * Returns the methods of the generic object service: reads and transactions over every kind, for stores in other
 * processes.
 */
export function objectMethods(options: ObjectServiceOptions): readonly CustomMethod[] {
  const { store, kinds, resources } = options;
  const transactions = new ObjectTransactions(options);
  const cursor = (): string => formatCursor(store.revision, store.storeId);
  const read = (
    verb: Extract<StandardVerb, 'Get' | 'List' | 'Watch'>,
    call: (context: CallContext, request: JsonObject) => Promise<JsonObject>,
  ): CustomMethod => ({
    id: `ObjectService.${verb}`,
    access: readAccess(kinds, verb),
    handler: { type: 'unary', call },
  });
  return [
    {
      id: 'ObjectService.Status',
      access: { type: 'authenticated', reads: true },
      handler: {
        type: 'unary',
        call: async (_context, request) => {
          await reached(store, textOf(request, 'atLeast'));
          const health = store.health();
          if (health.state === 'unreachable') throw health.error;
          if (health.state === 'closed') throw storeClosed();
          return { cursor: cursor(), clusterId: store.clusterId, state: states[health.state] };
        },
      },
    },
    read('Get', async (context, request) => {
      await reached(store, textOf(request, 'atLeast'));
      const served = kinds.require(textOf(request, 'kind'), 'Get');
      const object = await resources
        .unary('Get', served, context, request)
        .then((found) => JSON.stringify(found))
        .catch((error: unknown) => {
          // The absence of an object is an answer too; it needs a cursor.
          if (hasCode(error, 'NotFound')) return '';
          throw error;
        });
      return { object, cursor: cursor() };
    }),
    read('List', async (context, request) => {
      await reached(store, textOf(request, 'atLeast'));
      const served = kinds.require(textOf(request, 'kind'), 'List');
      const list = await resources.list(served, context, request);
      const { items, resourceVersion, nextPageToken } = list;
      const objects = (items as readonly JsonObject[]).map((item) => JSON.stringify(item));
      return { objects, cursor: resourceVersion, nextPageToken };
    }),
    {
      id: 'ObjectService.Watch',
      access: readAccess(kinds, 'Watch'),
      handler: {
        type: 'stream',
        call: (context, request) => {
          const served = kinds.require(textOf(request, 'kind'), 'Watch');
          return resources.watchObjects(served, context, request);
        },
      },
    },
    {
      id: 'ObjectService.Transact',
      access: {
        type: 'request',
        // Each operation needs a right of its own, which is checked with it.
        required: () => undefined,
        recorded: (request, code) => recordedOperations(kinds, request, code),
      },
      handler: {
        type: 'unary',
        call: async (context, request) => {
          const wanted = textOf(request, 'storeId');
          if (wanted !== '' && wanted !== store.storeId) throw otherStore(wanted, store.storeId);
          return transactions.transact(context, parseOperations(request, kinds));
        },
      },
    },
  ];
}

function readAccess(
  kinds: ExposedKinds,
  verb: Extract<StandardVerb, 'Get' | 'List' | 'Watch'>,
): MethodAccess {
  const right = verb.toLowerCase();
  return {
    type: 'request',
    required: (request) => {
      const { kind } = kinds.require(textOf(request, 'kind'), verb);
      const namespace = requestNamespace(kind, request);
      return { resource: kind.plural, verb: right, namespace: namespace === '-' ? '*' : namespace };
    },
    recorded: (request) => [
      {
        resource: kinds.find(textOf(request, 'kind'))?.kind.plural ?? '',
        verb: request.reveal === true ? 'reveal' : right,
        namespace: textOf(request, 'namespace'),
        name: textOf(request, 'name'),
      },
    ],
  };
}

/**
 * Resolves once reads show this position.
 * @throws StatusError InvalidArgument (InvalidCursor), OutOfRange (OtherStore, Ahead)
 */
async function reached(store: ObjectStore, position: string): Promise<void> {
  if (position === '') return;
  const revision = revisionIn(store.storeId, position, 'atLeast');
  if (revision <= store.revision) return;
  await store.transact([]);
  if (revision <= store.revision) return;
  throw new StatusError({
    code: 'OutOfRange',
    reason: 'Ahead',
    message: `revision ${revision} does not exist yet, the store is at ${store.revision}; read again without atLeast`,
  });
}

function otherStore(wanted: string, storeId: string): StatusError {
  return new StatusError({
    code: 'Aborted',
    reason: 'OtherStore',
    message: `the transaction is for store ${wanted}, and this is store ${storeId}, because it was restored or replaced: nothing was written; read again and repeat the change`,
  });
}
