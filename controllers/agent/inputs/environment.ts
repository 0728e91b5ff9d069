import type { Lister } from 'kedge';
import type { Configmap } from '../../configmap/kind.js';
import type { Instance } from '../../instance/kind.js';
import type { Secret } from '../../secret/kind.js';
import type { EnvironmentSource } from '../../service/kind.js';
import { openSecret, type Sealer } from '../../secret/index.js';
import { variableProblem } from '../../service/index.js';
import { inputMessages } from '../../messages/inputs.js';

/** A workload's environment, or the missing or unusable input. */
export type EnvironmentOutcome =
  | { readonly type: 'ready'; readonly env: Readonly<Record<string, string>> }
  | { readonly type: 'missing'; readonly message: string };

/** Sources of the values. */
export interface EnvironmentSources {
  readonly secrets: Lister<Secret>;
  readonly configmaps: Lister<Configmap>;
  readonly sealer: Sealer;
}

function dataOf(
  from: EnvironmentSource,
  namespace: string,
  { secrets, configmaps, sealer }: EnvironmentSources,
): Readonly<Record<string, string>> | undefined {
  if (!from.secret) {
    const configmap = configmaps.get(`${namespace}/${from.configmap ?? ''}`);
    return configmap && (configmap.data ?? {});
  }
  const secret = secrets.get(`${namespace}/${from.secret}`);
  return secret && openSecret(sealer, secret);
}

/**
 * Returns the environment of a workload. Precedence: `env`, a later entry of `envFrom`, an earlier one, then the
 * variables that every workload has: its name, service, namespace and ordinal.
 * @throws StatusError Internal if a value of a secret can't be opened
 */
export function environmentOf(instance: Instance, sources: EnvironmentSources): EnvironmentOutcome {
  const { namespace, name, service, ordinal, template } = instance;
  const env: Record<string, string> = {
    KEDGE_INSTANCE: name,
    KEDGE_SERVICE: service,
    KEDGE_NAMESPACE: namespace,
    KEDGE_ORDINAL: String(ordinal),
  };
  for (const from of template.envFrom ?? []) {
    const data = dataOf(from, namespace, sources);
    const { missing, keyUnfit } = inputMessages[from.secret ? 'secret' : 'configmap'];
    const object = `${namespace}/${from.secret || (from.configmap ?? '')}`;
    if (!data)
      return {
        type: 'missing',
        message: `envFrom: ${missing.format({ object })}; create it, and the start of the instance is retried automatically`,
      };
    for (const [key, value] of Object.entries(data)) {
      const variable = `${from.prefix ?? ''}${key}`;
      // The errors of programs that get such a variable contain its value.
      const problem = variableProblem(variable, value);
      if (problem !== undefined)
        return {
          type: 'missing',
          message: `envFrom: ${keyUnfit.format({ object, key })}: ${problem}; change the key or its value, or mount the object as files (${from.secret ? 'secretMounts' : 'configmapMounts'}) and remove it from envFrom`,
        };
      env[variable] = value;
    }
  }
  return { type: 'ready', env: { ...env, ...template.env } };
}
