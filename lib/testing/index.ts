/** The test kit: a fake clock and waiting for conditions. The memory engine is the fake store. */
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
