import { type ApiObject, defineKind } from 'kedge';

/** Confidential values. In the store every value is sealed; see controllers/secret/sealer.ts. */
export interface Secret extends ApiObject {
  readonly namespace: string;
  readonly data?: Readonly<Record<string, string>>;
  /** Rises with every change of data. */
  readonly version?: number;
}

export const secrets = defineKind<Secret>({
  kind: 'Secret',
  plural: 'secrets',
  shortNames: ['secret'],
  scope: 'Namespaced',
  statusFields: [],
  columns: [
    { header: 'NAME', value: (o) => o.name },
    { header: 'KEYS', value: (o) => Object.keys(o.data ?? {}).length },
    { header: 'VERSION', value: (o) => o.version },
  ],
});
