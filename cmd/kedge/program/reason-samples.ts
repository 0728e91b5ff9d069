import type { About, Subject, World } from '@kedge/controllers/cause';

const metadata = { uid: 'u', resourceVersion: '1', generation: 1, createdAt: '', updatedAt: '' };
const inDefault = { namespace: 'default', metadata };

const volume: Extract<Subject, { kind: 'Volume' }>['object'] = {
  ...inDefault,
  name: 'data',
  storageClassName: 'fast',
  size: '1Gi',
  accessMode: 'ReadWriteOnce',
  status: 'Pending',
};
const instance: Extract<Subject, { kind: 'Instance' }>['object'] = {
  ...inDefault,
  name: 'web-0',
  service: 'web',
  ordinal: 0,
  node: 'n1',
  template: { volumes: [{ name: 'data', mountPath: '/data', claim: { name: 'data' } }] },
};
const service = { ...inDefault, name: 'web' };
const snapshot = { ...inDefault, name: 'copy', source: { volume: 'data' } };
const node = { name: 'n1', metadata, status: 'Ready' } as const;
const namespace = { name: 'default', metadata };

const world: World = {
  services: [service],
  instances: [instance],
  volumes: [volume],
  snapshots: [snapshot],
  storageClasses: [{ name: 'fast', driver: 'local', metadata }],
  nodes: [node],
  credentials: new Map(),
};

/** An object of each kind that can be explained: the names in examples of remedies. */
export const samples = {
  Service: { kind: 'Service', object: service },
  Instance: { kind: 'Instance', object: instance },
  Volume: { kind: 'Volume', object: volume },
  Snapshot: { kind: 'Snapshot', object: snapshot },
  Node: { kind: 'Node', object: node },
  Namespace: { kind: 'Namespace', object: namespace },
} as const satisfies { readonly [K in Subject['kind']]: Extract<Subject, { readonly kind: K }> };

/** The inputs of a sample's remedy. */
export function aboutSample(kind: Subject['kind'], message: string): About {
  return { ...samples[kind], message, world };
}
