import { type AnyKind, keyString, type ObjectKey, type ObjectStore } from 'kedge';

const calls = [
  'get',
  'list',
  'transact',
  'create',
  'update',
  'overwrite',
  'updateStatus',
  'delete',
  'deleteByName',
];

/** A store as seen by one process: after `kill` its calls never return. */
export class KillableStore {
  readonly store: ObjectStore;
  #alive = true;

  /** @param looks counts reads of an object, by kind and key: every reconcile begins with one */
  constructor(store: ObjectStore, looks: Map<string, number>) {
    const gone = (): Promise<never> => new Promise(() => undefined);
    this.store = new Proxy(store, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== 'function') return value;
        const method = value.bind(target) as (...args: unknown[]) => unknown;
        if (!calls.includes(String(name))) return method;
        return async (...args: unknown[]): Promise<unknown> => {
          if (!this.#alive) return gone();
          if (name === 'get') {
            const [{ kind }, key] = args as [AnyKind, ObjectKey];
            const id = `${kind} ${keyString(key)}`;
            looks.set(id, (looks.get(id) ?? 0) + 1);
          }
          const result = await method(...args);
          return this.#alive ? result : gone();
        };
      },
    });
  }

  kill(): void {
    this.#alive = false;
  }
}
