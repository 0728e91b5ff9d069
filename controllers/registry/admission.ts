import type { FieldViolation } from 'kedge';
import type { AdmissionRules } from 'kedge/server';
import { registryAuthSensitive } from '@kedge/api/kinds';
import { registries, type Registry, type RegistryAuth } from './kind.js';
import {
  maskParameters,
  referenceViolations,
  holderOf,
  sealParameters,
  storedParameters,
} from '../secret/index.js';
import { parseReference } from '../references/secret-reference.js';
import type { Sealer } from '../secret/index.js';

/** Fields that each authentication type needs. */
const needed: Readonly<Record<RegistryAuth['type'], readonly (keyof RegistryAuth)[]>> = {
  basic: ['username', 'password'],
  token: ['token'],
  dockerconfigjson: ['dockerConfigJson'],
};

/** The confidential values, in the form of parameters. */
function values(auth: RegistryAuth | undefined): Readonly<Record<string, string>> {
  return Object.fromEntries(
    registryAuthSensitive.flatMap((key) => (auth?.[key] ? [[key, auth[key]] as const] : [])),
  );
}

function shapeViolations(auth: RegistryAuth): readonly FieldViolation[] {
  const wanted = needed[auth.type];
  const fields = ['username', ...registryAuthSensitive] as const;
  return fields.flatMap((key) => {
    const field = `auth.${key}`;
    if (wanted.includes(key) && !auth[key])
      return [{ field, description: `is required for type ${auth.type}` }];
    if (!wanted.includes(key) && auth[key])
      return [{ field, description: `is not used by type ${auth.type}; remove it` }];
    return [];
  });
}

/** A registry has no namespace, so its references must name one. */
function shorthandViolations(auth: RegistryAuth): readonly FieldViolation[] {
  return Object.entries(values(auth)).flatMap(([key, value]) => {
    const parsed = parseReference(value, '');
    if (parsed.type !== 'reference' || parsed.reference.namespace !== '') return [];
    return [
      {
        field: `auth.${key}`,
        description: `${JSON.stringify(value)} has no namespace; write secret:<name>.<namespace>.svc/<key>`,
      },
    ];
  });
}

/** Rules of registries: credentials are references or sealed literals, and masked in answers. */
export function registryRules(sealer: Sealer): AdmissionRules<Registry> {
  return {
    async prepare(context, object, before) {
      if (!object.auth) return object;
      const stored = await storedParameters(context, registries, before, ({ auth }) =>
        values(auth),
      );
      const sealed = sealParameters(values(object.auth), {
        sealer,
        holder: holderOf(registries, object),
        sensitive: registryAuthSensitive,
        stored,
        field: 'auth',
      });
      return { ...object, auth: { ...object.auth, ...sealed } };
    },
    async validate(context, object) {
      if (!object.auth) return [];
      const references = await referenceViolations(context, values(object.auth), undefined);
      return [
        ...shapeViolations(object.auth),
        ...shorthandViolations(object.auth),
        ...references.map((v) => ({ ...v, field: v.field.replace(/^parameters/, 'auth') })),
      ];
    },
    present(registry) {
      if (!registry.auth) return registry;
      return { ...registry, auth: { ...registry.auth, ...maskParameters(values(registry.auth)) } };
    },
  };
}
