/** The test kit: a clock under the test's control, waiting for conditions. The memory engine is the fake store. */
export { FakeClock, settle } from './fake-clock.js';
export { loseNewestTable, modelDriver, type ModelDriverOptions } from './model-database.js';
export { eventually } from './eventually.js';
export { type Fault, HostileFileSystem, type HostileOptions } from './hostile-file-system.js';
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
