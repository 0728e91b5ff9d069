import { reportedUse, type VolumeUse } from './usage-report.js';

/** The use of a mounted volume. */
export interface MeasuredVolume {
  readonly namespace: string;
  readonly name: string;
  readonly use: VolumeUse;
}

const metrics: readonly {
  readonly name: string;
  readonly help: string;
  readonly value: (use: VolumeUse) => bigint | undefined;
}[] = [
  {
    name: 'capacity_bytes',
    help: 'Capacity in bytes of the volume',
    value: ({ fileSystem }) => fileSystem.totalBytes,
  },
  {
    name: 'available_bytes',
    help: 'Number of available bytes in the volume',
    value: ({ fileSystem }) => fileSystem.availableBytes,
  },
  {
    name: 'used_bytes',
    help: 'Number of used bytes in the volume',
    value: (use) => reportedUse(use).usedBytes,
  },
  {
    name: 'inodes',
    help: 'Maximum number of inodes in the volume',
    value: ({ fileSystem }) => fileSystem.totalInodes,
  },
  {
    name: 'inodes_free',
    help: 'Number of free inodes in the volume',
    value: ({ fileSystem: { totalInodes, usedInodes } }) =>
      totalInodes === 0n ? 0n : totalInodes - usedInodes,
  },
  {
    name: 'inodes_used',
    help: 'Number of used inodes in the volume',
    value: (use) => reportedUse(use).usedInodes,
  },
];

/** The use of volumes in Prometheus' text format, with the names and labels of the kubelet. */
export function usageMetrics(measured: readonly MeasuredVolume[]): string {
  return metrics
    .flatMap(({ name, help, value }) => {
      const full = `kubelet_volume_stats_${name}`;
      const lines = measured.flatMap(({ namespace, name: volume, use }) => {
        const number = value(use);
        // Names of objects need no escaping.
        const labels = `namespace="${namespace}",persistentvolumeclaim="${volume}"`;
        return number === undefined ? [] : [`${full}{${labels}} ${number}`];
      });
      return lines.length === 0 ? [] : [`# HELP ${full} ${help}`, `# TYPE ${full} gauge`, ...lines];
    })
    .map((line) => `${line}\n`)
    .join('');
}
