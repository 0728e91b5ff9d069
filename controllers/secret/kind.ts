import { kindOf } from 'kedge/objects';
import { type Secret, secretSchema } from '@kedge/api/kinds';

export type { Secret };

/** Confidential values, sealed in the store; see controllers/secret/sealer.ts. */
export const secrets = kindOf<Secret>()({
  ...secretSchema,
  columns: [
    { header: 'NAME', value: (o) => o.name },
    { header: 'KEYS', value: (o) => Object.keys(o.data ?? {}).length },
    { header: 'VERSION', value: (o) => o.version },
  ],
});
