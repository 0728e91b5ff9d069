import { guardedWriteTests } from './guarded-writes.js';
import { kindCheckTests } from './kind-checks.js';
import { keyTests } from './keys.js';
import { listTests } from './lists.js';
import { readAndWriteTests } from './read-and-write.js';
import type { StoreConformanceOptions } from './subject.js';
import { watchTests } from './watch.js';

/**
 * Declares the tests that every `ObjectStore` must pass: the guarantees G1 to G6 except G4, and the six watch rules,
 * which `lib/store/index.ts` lists. A test that needs a capability that the store does not have is omitted.
 *
 * @example
 * storeConformance({
 *   name: 'memory',
 *   capabilities: { durable: true, denseRevisions: true },
 *   subject: async () => {
 *     const engine = new MemoryEngine();
 *     return { open: () => openStore({ engine }), cleanUp: async () => {} };
 *   },
 *   runner: { describe, it },
 * });
 */
export function storeConformance(options: StoreConformanceOptions): void {
  const { name, capabilities, subject, runner } = options;
  runner.describe(`store conformance: ${name}`, () => {
    const tests = [
      ...readAndWriteTests,
      ...listTests,
      ...keyTests,
      ...guardedWriteTests,
      ...kindCheckTests,
      ...watchTests,
    ];
    for (const test of tests) {
      const claimed = { embedded: true, kindChecks: true, ...capabilities };
      if (test.needs?.some((capability) => !claimed[capability])) continue;
      runner.it(test.name, async () => {
        const made = await subject();
        let store = await made.open();
        try {
          await test.body(store, async () => {
            await store.close();
            store = await made.open();
            return store;
          });
        } finally {
          await store.close();
          await made.cleanUp();
        }
      });
    }
  });
}
