import type { ObjectStore } from '../store/index.js';

/** The treatment of a call: it is executed, waits for `release`, or fails with an Error. */
export type CallMode = 'pass' | 'hang' | 'fail';

/** A handle on a store, as in another process, whose calls can hang or fail. */
export interface UnreliableStore {
  readonly store: ObjectStore;
  /** The treatment of later calls of {@link methods}. */
  mode: CallMode;
  /** Only these methods obey the mode; default: `get`, `create`, `update`, `transact`. */
  methods: ReadonlySet<string>;
  /** The number of hanging calls. */
  readonly hanging: number;
  /** Executes the hanging calls in their order. */
  release(): void;
}

/** Creates a separate handle on `store`; other handles are not affected by its faults. */
export function unreliableStore(store: ObjectStore): UnreliableStore {
  let hung: (() => void)[] = [];
  const handle: UnreliableStore = {
    mode: 'pass',
    methods: new Set(['get', 'create', 'update', 'transact']),
    get hanging() {
      return hung.length;
    },
    release() {
      const late = hung;
      hung = [];
      for (const resume of late) resume();
    },
    store: new Proxy(store, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== 'function') return value;
        const call = value.bind(target) as (...args: readonly unknown[]) => Promise<unknown>;
        if (!handle.methods.has(String(name))) return call;
        return async (...args: readonly unknown[]) => {
          if (handle.mode === 'fail') throw new Error('no route to the store');
          if (handle.mode === 'hang') await new Promise<void>((resolve) => hung.push(resolve));
          return call(...args);
        };
      },
    }),
  };
  return handle;
}
