import type { KindApi } from '../api/kind-entry.js';
import { snapshotRules } from './admission.js';
import { snapshotController } from './reconcile/controller.js';
import type { Snapshot } from './kind.js';
import { snapshotVerbs } from './verbs.js';

/** The API of the kind Snapshot. */
export const snapshotApi: KindApi<Snapshot> = {
  rules: snapshotRules,
  verbs: (parts, { drivers, sealer }) => snapshotVerbs(parts, drivers, sealer),
  controllers: (options) => [snapshotController(options)],
  callsDrivers: true,
};
