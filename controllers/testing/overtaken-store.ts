import { type AnyKind, keyString, type ObjectKey, type ObjectStore, type Operation } from 'kedge';

/** A store whose callers lose races, and whose commits are counted. */
export interface OvertakenStore {
  readonly store: ObjectStore;
  /** Does `other` right before the next commit that has an operation like this, once. */
  overtake(isMeant: (operation: Operation) => boolean, other: () => Promise<unknown>): void;
  /** Like `overtake`, before the next read of this object outside of a list. */
  overtakeRead(kind: AnyKind, key: ObjectKey, other: () => Promise<unknown>): void;
  /** Transactions that changed something, and single writes, that came through this store so far. */
  readonly commits: number;
}

const singleWrites: readonly PropertyKey[] = ['create', 'update', 'updateStatus', 'delete'];

type Transact = ObjectStore['transact'];

/** Wraps a store: its other users do not see the difference. */
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
