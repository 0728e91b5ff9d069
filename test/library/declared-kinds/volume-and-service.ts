import {
  boolean,
  declareKind,
  enumeration,
  int32,
  list,
  map,
  object,
  optional,
  string,
  withOptions,
} from 'kedge';

/*
 * Volume and Service as they were when the test was written, like the .proto files beside this file. Both are frozen:
 * later changes of Kedge's kinds are made in neither.
 */

const accessMode = enumeration(
  { ReadWriteOnce: 1, ReadOnlyMany: 2, ReadWriteMany: 3 },
  { name: 'AccessMode' },
);
const reclaimPolicy = enumeration({ retain: 1, delete: 2 }, { name: 'ReclaimPolicy' });
const policy = (number: number) => optional(withOptions(reclaimPolicy, { number }));

const condition = object(
  {
    type: string({ number: 1 }),
    status: enumeration({ True: 1, False: 2, Unknown: 3 }, { number: 2 }),
    reason: string({ number: 3 }),
    message: string({ number: 4 }),
    observedGeneration: int32({ number: 5 }),
    lastTransitionAt: string({ number: 6 }),
  },
  { name: 'Condition', topLevel: true },
);

const attachment = object(
  {
    claim: string({ number: 1 }),
    node: string({ number: 2 }),
    state: enumeration({ Reserved: 1, Attached: 2, Detaching: 3 }, { number: 3 }),
    devicePath: string({ number: 4 }),
    attachedAt: string({ number: 5 }),
  },
  { name: 'Attachment' },
);

const operation = object(
  {
    call: string({ number: 1 }),
    startedAt: string({ number: 2 }),
    outcome: string({ number: 3 }),
    message: string({ number: 4 }),
    nextTryAt: string({ number: 5 }),
  },
  { name: 'Operation', number: 36 },
);

export const volumes = declareKind({
  kind: 'Volume',
  plural: 'volumes',
  scope: 'Namespaced',
  fields: {
    storageClassName: string({ number: 5 }),
    size: string({ number: 6, required: true, format: 'quantity' }),
    accessMode: withOptions(accessMode, { number: 7, required: true, immutable: true }),
    reclaimPolicy: policy(8),
    parameters: map(string(), { number: 9 }),
    source: optional(
      object(
        { snapshot: string({ number: 1, required: true, format: 'object-reference' }) },
        { number: 10, immutable: true },
      ),
    ),
  },
  status: {
    status: enumeration(
      {
        Pending: 1,
        Provisioning: 2,
        Available: 3,
        Bound: 4,
        Released: 5,
        Failed: 6,
        Stalled: 7,
      },
      { number: 20 },
    ),
    handle: string({ number: 21 }),
    boundClaim: string({ number: 22 }),
    boundNode: string({ number: 23 }),
    ownerService: string({ number: 24 }),
    failureMessage: string({ number: 25 }),
    attempts: int32({ number: 26 }),
    driverParameters: map(string(), { number: 27 }),
    sizeBytes: string({ number: 28 }),
    reason: string({ number: 29 }),
    conditions: list(condition, { number: 30 }),
    attachments: list(attachment, { number: 31 }),
    driver: string({ number: 32 }),
    effectiveReclaimPolicy: policy(33),
    formatted: boolean({ number: 34 }),
    topology: map(string(), { number: 35 }),
    lastOperation: optional(operation),
    snapshotsInFlight: list(string(), { number: 37 }),
  },
});

const volumeMount = object(
  {
    name: string({ number: 1, required: true, format: 'dns-label' }),
    mountPath: string({ number: 2, required: true, format: 'absolute-path' }),
    readOnly: boolean({ number: 3 }),
    subPath: string({ number: 4 }),
    claim: optional(object({ name: string({ number: 1, required: true }) }, { number: 5 })),
    claimTemplate: optional(
      object(
        {
          storageClassName: string({ number: 1 }),
          size: string({ number: 2, required: true, format: 'quantity' }),
          accessMode: withOptions(accessMode, { number: 3, required: true }),
          parameters: map(string(), { number: 4 }),
          reclaimPolicy: policy(5),
          retention: optional(
            object({ whenScaled: policy(1), whenDeleted: policy(2) }, { number: 6 }),
          ),
        },
        { number: 6 },
      ),
    ),
  },
  { name: 'VolumeMount', topLevel: true },
);

const dataMount = object(
  {
    name: string({ number: 1, required: true }),
    mountPath: string({ number: 2, required: true, format: 'absolute-path' }),
    items: list(
      object(
        {
          key: string({ number: 1, required: true }),
          path: string({ number: 2, required: true }),
        },
        { name: 'Item' },
      ),
      { number: 3 },
    ),
  },
  { name: 'DataMount', topLevel: true },
);

export const services = declareKind({
  kind: 'Service',
  plural: 'services',
  scope: 'Namespaced',
  fields: {
    runtime: enumeration({ container: 1, process: 2 }, { number: 5 }),
    image: string({ number: 6 }),
    command: list(string(), { number: 7 }),
    args: list(string(), { number: 8 }),
    workingDir: string({ number: 9, format: 'absolute-path' }),
    env: map(string(), { number: 10 }),
    envFrom: list(
      object({
        secret: string({ number: 1 }),
        prefix: string({ number: 2 }),
        configmap: string({ number: 3 }),
      }),
      { number: 11 },
    ),
    restartPolicy: optional(enumeration({ Always: 1, OnFailure: 2, Never: 3 }, { number: 12 })),
    nodeSelector: map(string(), { number: 13 }),
    volumes: list(volumeMount, { number: 14 }),
    terminationGracePeriodSeconds: optional(int32({ number: 15, minimum: 0, maximum: 3600 })),
    scale: optional(int32({ number: 16, minimum: 0, maximum: 1000 })),
    restartedAt: string({ number: 17 }),
    secretMounts: list(dataMount, { number: 18 }),
    configmapMounts: list(dataMount, { number: 19 }),
  },
  status: {
    status: enumeration(
      { Pending: 1, Running: 2, Deploying: 3, Degraded: 4, Failed: 5, Deleting: 6 },
      { number: 30 },
    ),
    readyInstances: int32({ number: 31 }),
    currentInstances: int32({ number: 32 }),
    observedGeneration: int32({ number: 33 }),
    conditions: list(condition, { number: 34 }),
  },
});
