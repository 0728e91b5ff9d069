export { createLocalDriver as createDriver } from './driver.js';
