import type { InstanceTemplate } from '../instance/kind.js';

/** A secret or configmap of the service's namespace. */
export interface UsedData {
  readonly kind: 'secret' | 'configmap';
  readonly name: string;
}

/** The secrets and configmaps that the variables and files of a template refer to. */
export function usedData(template: InstanceTemplate): readonly UsedData[] {
  const { envFrom = [], secretMounts = [], configmapMounts = [] } = template;
  return [
    ...envFrom.map(({ secret, configmap = '' }) =>
      secret ? inSecret(secret) : inConfigmap(configmap),
    ),
    ...secretMounts.map(({ name }) => inSecret(name)),
    ...configmapMounts.map(({ name }) => inConfigmap(name)),
  ];
}

function inSecret(name: string): UsedData {
  return { kind: 'secret', name };
}

function inConfigmap(name: string): UsedData {
  return { kind: 'configmap', name };
}
