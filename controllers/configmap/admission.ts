import { jsonEqual } from 'kedge';
import type { AdmissionRules } from 'kedge/server';
import { dataViolations } from '../secret/data-map.js';
import type { Configmap } from './kind.js';

/** Rules of configmaps: limits, and a version that rises with the data. */
export function configmapRules(): AdmissionRules<Configmap> {
  return {
    prepare(_context, object, before) {
      const data = object.data ?? {};
      const same = before !== undefined && jsonEqual(data, before.data ?? {});
      const version = same ? (before.version ?? 1) : (before?.version ?? 0) + 1;
      return { ...object, data, version };
    },
    validate: (_context, object) => dataViolations(object.data ?? {}),
  };
}
