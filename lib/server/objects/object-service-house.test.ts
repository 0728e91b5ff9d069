import { StatusError } from '../../base/index.js';
import { ApiClient } from '../../client/index.js';
import { type ApiObject, kindOf } from '../../object/index.js';
import { baseDescriptors, type JsonObject, SchemaRegistry } from '../../rpc/index.js';
import { type EmbeddedStore, MemoryEngine, openStore } from '../../store/index.js';
import {
  accessControl,
  ApiServer,
  type AuditEntry,
  describeKinds,
  type Identity,
  mount,
} from '../index.js';

export interface Lamp extends ApiObject {
  readonly room: string;
  readonly watts: number;
  readonly code?: string;
  readonly on?: boolean;
}
const fields = {
  room: { type: 'string', required: true, immutable: true },
  watts: { type: 'integer', minimum: 1, maximum: 100 },
  code: 'string',
  on: 'boolean',
} as const;
export const lamps = kindOf<Lamp>()({
  kind: 'Lamp',
  plural: 'lamps',
  scope: 'Namespaced',
  statusFields: ['on'],
  indexes: {
    room: ({ room }) => [room.slice(0, 20)],
    code: ({ code }) => (code === undefined ? [] : [code]),
  },
});
export const beacons = kindOf<Lamp>()({
  kind: 'Beacon',
  plural: 'beacons',
  scope: 'Cluster',
  statusFields: ['on'],
});
export const notes = kindOf<ApiObject>()({
  kind: 'Note',
  plural: 'notes',
  scope: 'Namespaced',
  statusFields: [],
});
let shown = 0;
const rules = {
  prepare: async (_context: unknown, lamp: Lamp, before: Lamp | undefined) =>
    lamp.code === '***' ? { ...lamp, code: before?.code ?? '' } : lamp,
  validate: async (_context: unknown, lamp: Lamp) =>
    lamp.watts === 13 ? [{ field: 'watts', description: 'brings bad luck' }] : [],
  validateDelete: async (_context: unknown, lamp: Lamp) => {
    if (lamp.labels?.keep === 'yes')
      throw new StatusError({ code: 'FailedPrecondition', reason: 'Kept', message: 'keep' });
  },
  present: (lamp: Lamp, reveal: boolean) => {
    shown += 1;
    return lamp.code && !reveal ? { ...lamp, code: '***' } : lamp;
  },
  visibleIndexes: ['room'],
};
const api = describeKinds('house.v1', [
  mount(lamps, fields, rules),
  mount(beacons, fields, rules),
  mount(notes, {}),
]);

/** The rights of each subject, as `verb resource namespace`; `*` for all. Every subject may create notes. */
export const rights: Record<string, readonly string[]> = {
  nobody: [],
  reader: ['get * *', 'list * *', 'watch * *'],
  creator: ['create lamps *', 'create beacons *'],
  updater: ['update lamps *', 'update beacons *'],
  deleter: ['delete lamps *', 'delete beacons *'],
  stator: ['update lamps/status *', 'update beacons/status *'],
  elsewhere: ['* lamps other', '* lamps/status other'],
  athome: ['* lamps home', '* lamps/status home'],
  everything: ['* * *'],
  // May do everything with notes, and with objects whose label owner is its name.
  narrowed: ['* * *'],
};

function allows(subject: string, verb: string, resource: string, namespace = '*'): boolean {
  if (verb === 'create' && resource === 'notes') return true;
  return (rights[subject] ?? []).some((right) => {
    const [verbs, resources, namespaces] = right.split(' ');
    const covers = (of: string | undefined, value: string) => of === '*' || of === value;
    return covers(verbs, verb) && covers(resources, resource) && covers(namespaces, namespace);
  });
}

const identity = (subject: string): Identity => ({
  subject,
  kind: 'user',
  policies: [],
  tokenId: '',
  expiresAt: undefined,
});

/** The fields of a stored lamp. */
export const there = { room: 'hall', watts: 40, code: 'secret', labels: { owner: 'narrowed' } };

/** A server of lamps, beacons and notes, and its callers. */
export interface House extends AsyncDisposable {
  readonly store: EmbeddedStore;
  readonly ports: { readonly grpc: number; readonly rest: number };
  /** All audit entries. */
  readonly audited: AuditEntry[];
  /** Number of conversions of a lamp or beacon to the form of the API. */
  shown(): number;
  /** A client with the rights of that subject, for the object service or the services of the kinds. */
  client(subject: string, generic: boolean): ApiClient;
  transact(subject: string, operations: readonly JsonObject[]): Promise<JsonObject>;
}

let made = 0;

/** An unused name. */
export function nextName(): string {
  return `n${(made += 1)}`;
}

/** The outcome of a call: `OK`, or code and reason. */
export function verdictOf(call: Promise<unknown>): Promise<string> {
  return call.then(
    () => 'OK',
    (error: unknown) => {
      const { code, reason } = StatusError.from(error);
      return `${code} ${reason}`;
    },
  );
}

/** The operation that creates a note, which every subject may do. */
export function note(name: string): JsonObject {
  return {
    type: 'CREATE',
    kind: 'Note',
    namespace: 'home',
    name,
    object: JSON.stringify({ name }),
  };
}

export async function openHouse(): Promise<House> {
  const audited: AuditEntry[] = [];
  const store = await openStore({ engine: new MemoryEngine() });
  const server = new ApiServer({
    store,
    ...api,
    authenticator: {
      authenticate: (header) => Promise.resolve(identity(header?.slice('Bearer '.length) ?? '')),
    },
    authorizer: accessControl(({ subject }, { verb, resource, namespace }) =>
      allows(subject, verb, resource, namespace),
    ),
    objectAccess: {
      filterFor: ({ subject }) =>
        subject === 'narrowed'
          ? {
              allows: (resource, _verb, object) =>
                resource === 'notes' || object.labels?.owner === 'narrowed',
              withheld: (resource, { before, after }) =>
                after.labels?.locked === 'yes' || before?.labels?.locked === 'yes'
                  ? [{ field: 'labels.locked', description: `locks ${resource}` }]
                  : [],
            }
          : undefined,
    },
    audit: { wants: () => true, record: (entry) => void audited.push(entry) },
  });
  const anywhere = { host: '127.0.0.1', port: 0 };
  const ports = await server.listen({ grpc: anywhere, rest: anywhere });
  const schemas = new SchemaRegistry(baseDescriptors);
  const known = new Map<string, ApiClient>();
  const client = (subject: string, generic: boolean): ApiClient => {
    const id = `${subject} ${generic}`;
    const of = generic ? { schemas, packageName: 'kedge' } : api;
    const options = { ...of, server: `127.0.0.1:${ports.grpc}`, token: subject };
    const found = known.get(id) ?? new ApiClient(options);
    known.set(id, found);
    return found;
  };
  return {
    store,
    ports,
    audited,
    shown: () => shown,
    client,
    transact: (subject, operations) =>
      client(subject, true).call('ObjectService.Transact', { operations }),
    [Symbol.asyncDispose]: async () => {
      for (const open of known.values()) open.close();
      await server.close();
      await store.close();
    },
  };
}
