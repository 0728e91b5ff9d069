/**
 * The test kit: a fake clock, waiting for conditions, recording loggers and metrics, a disk and a database that fail on
 * purpose, and the tests that every store must pass. For a store in memory, use the memory engine.
 */
export { FakeClock, settle } from './fake-clock.js';
export type { ModelDriverOptions } from './model-database.js';
export { loseNewestTable, modelDriver } from './model-driver.js';
export { eventually } from './eventually.js';
export { HostileFileSystem } from './hostile-file-system.js';
export type { Fault, HostileOptions } from './hostile-options.js';
export { type RecordedLine, RecordingLogger } from './recording-logger.js';
export { reachState } from './reach-state.js';
export { RecordingMetrics } from './recording-metrics.js';
export { storeConformance } from './conformance/store-conformance.js';
export type {
  StoreCapabilities,
  StoreConformanceOptions,
  StoreSubject,
  TestRunner,
} from './conformance/subject.js';
export { MemoryEngine } from '../store/index.js';
