import { hasCode, type ObjectStore } from 'kedge';
import { storageClasses } from './kind.js';

/** Label of built-in objects. */
const builtinLabel = { 'svc.io/builtin': 'true' };

/** Creates the classes `local` and `local-host` if they do not exist. Idempotent. */
export async function seedClasses(store: ObjectStore): Promise<void> {
  for (const name of ['local', 'local-host']) {
    try {
      await store.create(storageClasses, {
        name,
        labels: builtinLabel,
        driver: name,
        reclaimPolicy: 'retain',
        default: false,
      });
    } catch (error) {
      if (!hasCode(error, 'AlreadyExists')) throw error;
    }
  }
}
