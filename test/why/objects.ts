/** A service that runs indefinitely. */
export function service(more: object = {}, name = 'web'): object {
  return {
    name,
    runtime: 'process',
    command: ['/bin/sh', '-c', 'sleep 10000'],
    minReadySeconds: 0,
    terminationGracePeriodSeconds: 1,
    ...more,
  };
}

/** A volume of driver local. */
export function volume(more: object = {}, name = 'data'): object {
  return {
    name,
    storageClassName: 'local',
    size: '1Mi',
    accessMode: 'ReadWriteOnce',
    ...more,
  };
}

/** A volume whose driver fails as configured. */
export function faulty(fault: string, more: object = {}): object {
  return volume({ storageClassName: 'faulty', parameters: { fault }, ...more });
}

/** Mounts a volume by its name. */
export function claim(name: string, more: object = {}): object {
  return { volumes: [{ name: 'data', mountPath: '/data', claim: { name }, ...more }] };
}

/** A volume whose data is a directory of the node; processes support no other volumes. */
export function hostVolume(hostPath: string, more: object = {}): object {
  const parameters = { hostPath, createIfMissing: 'true' };
  return volume({ storageClassName: 'local-host', parameters, ...more });
}
