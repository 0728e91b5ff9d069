import { type AnyKind, keyString, type ObjectKey, type ObjectStore, type Operation } from 'kedge';

/** A store that lets other writes overtake those of its callers, and counts commits. */
export interface OvertakenStore {
  readonly store: ObjectStore;
  /** Runs `other` once, before the next commit with a matching operation. */
  overtake(isMeant: (operation: Operation) => boolean, other: () => Promise<unknown>): void;
  /** Like `overtake`, before the next get of this object. */
  overtakeRead(kind: AnyKind, key: ObjectKey, other: () => Promise<unknown>): void;
  /** Number of transactions with changes, and of single writes, through this store. */
  readonly commits: number;
}

const singleWrites: readonly PropertyKey[] = ['create', 'update', 'updateStatus', 'delete'];

type Transact = ObjectStore['transact'];

/** Wraps a store. Only the writes and reads that the caller names are overtaken; everything else is unchanged. */
export function overtakenStore(inner: ObjectStore): OvertakenStore {
  let race:
    | { isMeant: (operation: Operation) => boolean; other: () => Promise<unknown> }
    | undefined;
  let read: { kind: string; key: string; other: () => Promise<unknown> } | undefined;
  let commits = 0;
  const transact: Transact = async (operations) => {
    if (race && operations.some(race.isMeant)) {
      const { other } = race;
      race = undefined;
      await other();
    }
    const results = await inner.transact(operations);
    if (results.some((result) => result.changed)) commits += 1;
    return results;
  };
  const get: ObjectStore['get'] = async (kind, key) => {
    if (read?.kind === kind.kind && read.key === keyString(key)) {
      const { other } = read;
      read = undefined;
      await other();
    }
    return inner.get(kind, key);
  };
  const store = new Proxy(inner, {
    get: (target, property): unknown => {
      if (property === 'transact') return transact;
      if (property === 'get') return get;
      const value: unknown = Reflect.get(target, property);
      if (typeof value !== 'function') return value;
      const method = value.bind(target) as (...given: unknown[]) => Promise<unknown>;
      if (!singleWrites.includes(property)) return method;
      return async (...given: unknown[]) => {
        const result = await method(...given);
        commits += 1;
        return result;
      };
    },
  });
  return {
    store,
    overtake: (isMeant, other) => {
      race = { isMeant, other };
    },
    overtakeRead: ({ kind }, key, other) => {
      read = { kind, key: keyString(key), other };
    },
    get commits() {
      return commits;
    },
  };
}
