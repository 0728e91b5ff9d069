import type { ObjectStore } from '../store/index.js';

/** What becomes of calls from now on. */
export type CallMode = 'pass' | 'hang' | 'fail';

/** A handle on a store, as another process has it, whose calls can hang, fail, or come late. */
export interface UnreliableStore {
  readonly store: ObjectStore;
  /** Of reads and writes alike. */
  mode: CallMode;
  /** Only these methods obey the mode; default: `get`, `create`, `update`, `transact`. */
  methods: ReadonlySet<string>;
  /** Calls that hang now. */
  readonly hanging: number;
  /** Carries out what hangs, late, in the order it was asked for. */
  release(): void;
}

/** A handle of its own on `store`; nothing else sees its faults. */
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
      for (const carryOut of late) carryOut();
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
