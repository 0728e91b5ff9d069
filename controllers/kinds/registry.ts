import { type ApiObject, defineKind } from 'kedge';

/** How a registry is logged in to. Confidential values are sealed in the store. */
export interface RegistryAuth {
  readonly type: 'basic' | 'token' | 'dockerconfigjson';
  readonly username?: string;
  readonly password?: string;
  readonly token?: string;
  readonly dockerConfigJson?: string;
}

/** Where images are pulled from. */
export interface Registry extends ApiObject {
  /** Host, or `*.example.com`. */
  readonly registry: string;
  readonly auth?: RegistryAuth;
}

export const registries = defineKind<Registry>({
  kind: 'Registry',
  plural: 'registries',
  shortNames: ['registry'],
  scope: 'Cluster',
  statusFields: [],
  columns: [
    { header: 'NAME', value: (o) => o.name },
    { header: 'REGISTRY', value: (o) => o.registry },
    { header: 'AUTH', value: (o) => o.auth?.type },
  ],
});
