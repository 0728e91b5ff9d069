/** The test kit: a clock under the test's control, waiting for conditions. The memory engine is the fake store. */
export { FakeClock, settle } from './fake-clock.js';
export { eventually } from './eventually.js';
export { MemoryEngine } from '../store/index.js';
