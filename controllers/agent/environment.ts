import type { Lister } from 'kedge';
import type { Instance, Secret } from '../kinds/index.js';
import { openSecret, type Sealer } from '../secret/index.js';

/** A workload's environment, or what it still lacks. */
export type EnvironmentOutcome =
  | { readonly type: 'ready'; readonly env: Readonly<Record<string, string>> }
  | { readonly type: 'missing'; readonly message: string };

/** `env` over `envFrom` over what every workload gets: its name, service, namespace and ordinal. */
export function environmentOf(
  instance: Instance,
  secrets: Lister<Secret>,
  sealer: Sealer,
): EnvironmentOutcome {
  const { namespace, name, service, ordinal, template } = instance;
  const env: Record<string, string> = {
    KEDGE_INSTANCE: name,
    KEDGE_SERVICE: service,
    KEDGE_NAMESPACE: namespace,
    KEDGE_ORDINAL: String(ordinal),
  };
  for (const { secret: secretName, prefix } of template.envFrom ?? []) {
    const secret = secrets.get(`${namespace}/${secretName}`);
    if (!secret)
      return {
        type: 'missing',
        message: `secret ${namespace}/${secretName} of envFrom does not exist; create it and the instance goes on by itself`,
      };
    for (const [key, value] of Object.entries(openSecret(sealer, secret)))
      env[`${prefix ?? ''}${key}`] = value;
  }
  return { type: 'ready', env: { ...env, ...template.env } };
}
