/** Kinds whose phases are enumerated. */
export type Subject = 'Volume' | 'Snapshot' | 'Service' | 'Instance' | 'Namespace' | 'Node';

/**
 * A dependency of a subject: an object of another kind, or a port of its controllers. `home` is the node that
 * has the data permanently.
 */
export type Target =
  | 'Namespace'
  | 'StorageClass'
  | 'Secret'
  | 'Configmap'
  | 'Volume'
  | 'Snapshot'
  | 'Service'
  | 'Instance'
  | 'Node'
  | 'home'
  | 'driver'
  | 'runtime';

/** One dependency of a kind and its fields. Ports have no fields. */
export interface Relation {
  readonly from: Subject;
  readonly to: Target;
  /** In the notation of the schema: `a.b`, `a[].b` in lists, `a{}` for the values of a map. */
  readonly fields: readonly string[];
}

/** Every field of these kinds that names another object, by the named kind; and the ports of their controllers. */
export const relations: readonly Relation[] = [
  { from: 'Volume', to: 'Namespace', fields: ['namespace'] },
  { from: 'Volume', to: 'StorageClass', fields: ['storageClassName'] },
  { from: 'Volume', to: 'Secret', fields: ['parameters{}', 'driverParameters{}'] },
  { from: 'Volume', to: 'Snapshot', fields: ['source.snapshot', 'snapshotsInFlight[]'] },
  { from: 'Volume', to: 'Instance', fields: ['boundClaim', 'attachments[].claim'] },
  { from: 'Volume', to: 'Node', fields: ['boundNode', 'attachments[].node'] },
  { from: 'Volume', to: 'home', fields: ['topology{}'] },
  { from: 'Volume', to: 'Service', fields: ['ownerService'] },
  { from: 'Volume', to: 'driver', fields: ['driver'] },
  { from: 'Snapshot', to: 'Namespace', fields: ['namespace'] },
  { from: 'Snapshot', to: 'Volume', fields: ['source.volume', 'restoresInFlight[]'] },
  { from: 'Snapshot', to: 'StorageClass', fields: ['storageClassName'] },
  { from: 'Snapshot', to: 'Secret', fields: ['driverParameters{}'] },
  { from: 'Snapshot', to: 'home', fields: ['topology{}'] },
  { from: 'Snapshot', to: 'driver', fields: ['driver'] },
  { from: 'Service', to: 'Namespace', fields: ['namespace'] },
  { from: 'Service', to: 'Volume', fields: ['volumes[].claim.name'] },
  {
    from: 'Service',
    to: 'StorageClass',
    fields: ['volumes[].claimTemplate.storageClassName'],
  },
  {
    from: 'Service',
    to: 'Secret',
    fields: ['envFrom[].secret', 'secretMounts[].name', 'volumes[].claimTemplate.parameters{}'],
  },
  { from: 'Service', to: 'Configmap', fields: ['envFrom[].configmap', 'configmapMounts[].name'] },
  { from: 'Service', to: 'Node', fields: ['nodeSelector{}'] },
  { from: 'Service', to: 'driver', fields: [] },
  { from: 'Service', to: 'runtime', fields: [] },
  { from: 'Instance', to: 'Namespace', fields: ['namespace'] },
  { from: 'Instance', to: 'Service', fields: ['service'] },
  { from: 'Instance', to: 'Node', fields: ['node', 'nominatedNode', 'template.nodeSelector{}'] },
  {
    from: 'Instance',
    to: 'Volume',
    fields: ['template.volumes[].claim.name', 'mounts[].volume'],
  },
  {
    from: 'Instance',
    to: 'StorageClass',
    fields: ['template.volumes[].claimTemplate.storageClassName'],
  },
  {
    from: 'Instance',
    to: 'Secret',
    fields: [
      'template.envFrom[].secret',
      'template.secretMounts[].name',
      'template.volumes[].claimTemplate.parameters{}',
    ],
  },
  {
    from: 'Instance',
    to: 'Configmap',
    fields: ['template.envFrom[].configmap', 'template.configmapMounts[].name'],
  },
  { from: 'Instance', to: 'driver', fields: [] },
  { from: 'Instance', to: 'runtime', fields: [] },
  // A namespace has no references; its deletion waits for its content and for their dependencies.
  { from: 'Namespace', to: 'Secret', fields: [] },
  { from: 'Namespace', to: 'StorageClass', fields: [] },
  { from: 'Namespace', to: 'Node', fields: [] },
  { from: 'Namespace', to: 'home', fields: [] },
  { from: 'Namespace', to: 'Instance', fields: [] },
  { from: 'Namespace', to: 'driver', fields: [] },
  { from: 'Namespace', to: 'runtime', fields: [] },
  // A node has no references; the port of its controller is the machine that reports itself.
  { from: 'Node', to: 'Node', fields: [] },
];

const forDisplay = 'a message for people, not read by programs';
const own = 'its own name';
const literal = 'a value, not the name of an object';

/** Every other text field of these kinds, and why it names no object. */
export const otherFields: Readonly<Record<Subject, Readonly<Record<string, string>>>> = {
  Namespace: { name: own, description: forDisplay },
  Node: {
    name: own,
    address: literal,
    version: forDisplay,
    lastHeartbeatAt: literal,
    agentId: 'the id of the registered process: compared, never resolved',
    'drivers[]': 'built into its process',
    'runtimes[]': 'built into its process',
  },
  Volume: {
    name: own,
    size: literal,
    handle: "the provider's id; only its driver reads it",
    importedAs: "the provider's name of an imported volume; only its driver reads it",
    failureMessage: forDisplay,
    sizeBytes: literal,
    reason: forDisplay,
    'attachments[].devicePath': 'of the node',
    'attachments[].attachedAt': literal,
    'dataDeletion.askedAt': literal,
    'exhaustedTopologies[].refusedAt': literal,
    'exhaustedTopologies[].topology{}': 'labels of a place at the provider, not of an object',
    usedBytes: literal,
    totalBytes: literal,
    usedInodes: literal,
    totalInodes: literal,
    'ownParameters[]': 'the names of its own parameters',
    ...operation(),
  },
  Snapshot: {
    name: own,
    handle: "the provider's id; only its driver reads it",
    failureMessage: forDisplay,
    sizeBytes: literal,
    restoreSize: literal,
    reason: forDisplay,
    readyAt: literal,
    sourceUid: 'compared with the uid of the volume that `source` names; never resolved',
    'ownParameters[]': 'the names of parameters of its source',
    ...operation(),
  },
  Service: { name: own, ...template('') },
  Instance: {
    name: own,
    failureMessage: forDisplay,
    exitReason: literal,
    startedAt: literal,
    nominatedAt: literal,
    'backoff.nextStartAt': literal,
    ip: literal,
    'hostPorts[].address': 'of the node',
    containerId: 'the id of the container at the engine of the node',
    'mounts[].name': 'of an entry of its template',
    'mounts[].mountPath': literal,
    'mounts[].source': 'a directory of the node',
    ...template('template.'),
  },
};

function operation(): Readonly<Record<string, string>> {
  const requests = ['at', 'method', 'path', 'requestId', 'error'].map(
    (field) => `calls[].${field}`,
  );
  const fields = ['call', 'startedAt', 'outcome', 'message', 'nextTryAt', ...requests];
  return Object.fromEntries(fields.map((field) => [`lastOperation.${field}`, forDisplay]));
}

function template(prefix: string): Readonly<Record<string, string>> {
  const reasons: Readonly<Record<string, string>> = {
    image: 'a runtime pulls it; its failure is one of the port runtime',
    'command[]': literal,
    'args[]': literal,
    workingDir: literal,
    user: 'of the node; one that it does not have is a failure of the port runtime',
    'capabilities[]': literal,
    'env{}': literal,
    'envFrom[].prefix': literal,
    'volumes[].name': own,
    'volumes[].mountPath': literal,
    'volumes[].subPath': literal,
    'volumes[].claimTemplate.size': literal,
    restartedAt: literal,
    'resources.cpu.request': literal,
    'resources.cpu.limit': literal,
    'resources.memory.request': literal,
    'resources.memory.limit': literal,
    'resources.sharedMemory': literal,
    'secretMounts[].mountPath': literal,
    'secretMounts[].items[].key': 'of the secret: breakage wrong',
    'secretMounts[].items[].path': literal,
    'configmapMounts[].mountPath': literal,
    'configmapMounts[].items[].key': 'of the configmap: breakage wrong',
    'configmapMounts[].items[].path': literal,
  };
  return Object.fromEntries(Object.entries(reasons).map(([k, why]) => [`${prefix}${k}`, why]));
}
