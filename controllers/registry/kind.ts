import { kindOf } from 'kedge/objects';
import { type Registry, type RegistryAuth, registrySchema } from '@kedge/api/kinds';

export type { Registry, RegistryAuth };

/** The kind Registry. */
export const registries = kindOf<Registry>()({
  ...registrySchema,
  columns: [
    { header: 'NAME', value: (o) => o.name },
    { header: 'REGISTRY', value: (o) => o.registry },
    { header: 'AUTH', value: (o) => o.auth?.type },
  ],
});
