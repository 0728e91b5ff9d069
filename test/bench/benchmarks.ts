import type { Benchmark } from './measuring/measurement.js';

/** Every benchmark by name; loaded in the process that runs it. */
export const benchmarks: Readonly<Record<string, () => Promise<{ readonly run: Benchmark }>>> = {
  'durable-writes': () => import('./store/durable-writes.js'),
  'informer-latency': () => import('./library/informer-latency.js'),
  converge: () => import('./library/converge.js'),
  etcd: () => import('./etcd/store-etcd.js'),
  'api-etcd': () => import('./etcd/api-etcd.js'),
  'work-queue': () => import('./library/work-queue.js'),
  messages: () => import('./library/messages.js'),
  'large-store': () => import('./store/large-store.js'),
  compaction: () => import('./store/compaction.js'),
  volumes: () => import('./daemon/volumes.js'),
  'volume-cost': () => import('./daemon/volume-cost.js'),
  services: () => import('./daemon/services.js'),
  'crash-loops': () => import('./daemon/crash-loops.js'),
  'stubborn-workloads': () => import('./daemon/stubborn-workloads.js'),
  'silent-providers': () => import('./daemon/silent-providers.js'),
  api: () => import('./daemon/api.js'),
  parsers: () => import('./parsers/parsers.js'),
};
