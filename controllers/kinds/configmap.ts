import { type ApiObject, defineKind } from 'kedge';

/** Settings that are no secret. */
export interface Configmap extends ApiObject {
  readonly namespace: string;
  readonly data?: Readonly<Record<string, string>>;
  /** Rises with every change of data. */
  readonly version?: number;
}

export const configmaps = defineKind<Configmap>({
  kind: 'Configmap',
  plural: 'configmaps',
  shortNames: ['cm', 'configmap'],
  scope: 'Namespaced',
  statusFields: [],
  columns: [
    { header: 'NAME', value: (o) => o.name },
    { header: 'KEYS', value: (o) => Object.keys(o.data ?? {}).length },
    { header: 'VERSION', value: (o) => o.version },
  ],
});
