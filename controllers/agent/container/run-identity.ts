import { clusterPrefix } from '../runtime/cluster-prefix.js';

/** Labels of all objects that Kedge creates in an engine. */
export const engineLabels = {
  cluster: 'svc.io/cluster',
  /** Uid of the instance. */
  instance: 'svc.io/instance',
  /** Number of the run, from 1. */
  run: 'svc.io/run',
  /** Digest of the image, or its id. */
  image: 'svc.io/image',
  /** Digest of the configuration of the container. */
  config: 'svc.io/config',
  /** The limits that the container was created with, as JSON. */
  limits: 'svc.io/limits',
  /** Set on containers of {@link OneOffContainers} to their node. */
  once: 'svc.io/once',
} as const;

/** One run of a workload, which is one container. */
export interface RunIdentity {
  readonly cluster: string;
  /** Uid of the instance. */
  readonly id: string;
  readonly run: number;
}

/** A run with a container. */
export interface FoundRun {
  readonly run: number;
  readonly container: string;
  /** State in the terms of the engine: `created`, `running`, `exited` and so on. */
  readonly state: string;
}

/**
 * Name of the container of a run. Names are unique in an engine, so that a repeated start of a run is one container.
 * The instances of a copied cluster have the ids of their originals, so the name includes the prefix of the cluster id.
 */
export function containerName({ cluster, id, run }: RunIdentity): string {
  return `kedge-${clusterPrefix(cluster)}-${id}-${run}`;
}

/** Labels of the container of a run. */
export function runLabels({ cluster, id, run }: RunIdentity): Readonly<Record<string, string>> {
  return {
    [engineLabels.cluster]: cluster,
    [engineLabels.instance]: id,
    [engineLabels.run]: String(run),
  };
}

/** The run of a container by its labels; undefined for labels of other programs. */
export function runOf(labels: Readonly<Record<string, string>>): RunIdentity | undefined {
  const cluster = labels[engineLabels.cluster];
  const id = labels[engineLabels.instance];
  const run = Number(labels[engineLabels.run]);
  if (!cluster || !id || !Number.isSafeInteger(run) || run < 1) return undefined;
  return { cluster, id, run };
}
