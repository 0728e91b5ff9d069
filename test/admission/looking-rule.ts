import type { Answer, CheckOf, ValidatedApi } from './validated-api.js';

/** A request of the REST API. */
export interface WriteCall {
  readonly method: 'POST' | 'PUT' | 'DELETE';
  readonly path: string;
  readonly body?: object;
  readonly token?: string;
  /** The kind of the created object; such a write is also made by cast and by a transaction. */
  readonly kind?: string;
}

/** The refusal of a write. */
export interface Refusal {
  readonly status: 400 | 404 | 412;
  readonly message: RegExp;
}

/** A rule that reads another object: a row of docs/reference/admission.md and its tests. */
export interface LookingRule {
  /** The columns of the table. */
  readonly rule: string;
  readonly reads: string;
  readonly check: string;
  readonly mirror: string;
  /** The check that results from the rule's read; without it the tests must fail. */
  readonly guard: CheckOf;
  readonly given?: (api: ValidatedApi) => Promise<unknown>;
  /** The write that the rule validates. */
  readonly write: WriteCall;
  /** A write after which `write` is not allowed. */
  readonly against: WriteCall;
  readonly refused: Refusal;
  /** The refusal of `against` after `write`; undefined if that order is allowed. */
  readonly mirrored?: Refusal & { readonly guard: CheckOf };
}

/** Makes a request. */
export function call(api: ValidatedApi, { method, path, body, token }: WriteCall): Promise<Answer> {
  return api.rest(method, path, body, token);
}

export const inDefault = (plural: string): string => `/v1/namespaces/default/${plural}`;
export const volume = {
  name: 'v',
  size: '1Gi',
  accessMode: 'ReadWriteOnce',
  storageClassName: 'local',
};
export const post = (kind: string, path: string, body: object): WriteCall => ({
  method: 'POST',
  path,
  body,
  kind,
});
export const postVolume = (fields: object = {}): WriteCall =>
  post('Volume', inDefault('volumes'), { ...volume, ...fields });
export const service = { name: 's', runtime: 'process', command: ['sleep'] };
export const postService = (fields: object): WriteCall =>
  post('Service', inDefault('services'), { ...service, ...fields });
export const claims = (name: string): object => ({
  volumes: [{ name: 'm', mountPath: '/m', claim: { name } }],
});
export const template = (fields: object): object => ({
  volumes: [
    {
      name: 'm',
      mountPath: '/m',
      claimTemplate: { size: '1Gi', accessMode: 'ReadWriteOnce', ...fields },
    },
  ],
});
export const container = { runtime: 'container', image: 'x', command: [] };
export const postClass = (fields: object): WriteCall =>
  post('StorageClass', '/v1/storageclasses', { name: 'c', driver: 'local', ...fields });
export const remove = (path: string): WriteCall => ({ method: 'DELETE', path });
export const hostClass = { name: 'h', driver: 'local-host', parameters: { hostPath: '/data/x' } };
export const hostClassWithoutPath: WriteCall = {
  method: 'PUT',
  path: '/v1/storageclasses/h',
  body: { name: 'h', driver: 'local-host', parameters: {} },
};
export const snapshot = { name: 'snap', source: { volume: 'v' } };

/** Makes requests one after the other with all rights. @throws Error unless each succeeds */
export async function all(api: ValidatedApi, ...writes: readonly WriteCall[]): Promise<void> {
  for (const { method, path, body } of writes) await api.ok(method, path, body);
}

/** Writes status fields over REST with all rights, like a controller. */
export async function status(
  api: ValidatedApi,
  plural: string,
  name: string,
  fields: object,
): Promise<void> {
  await api.ok('PUT', `${inDefault(plural)}/${name}/status`, fields);
}
