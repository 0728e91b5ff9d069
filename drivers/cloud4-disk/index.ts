export { createCloud4DiskDriver as createDriver } from './driver.js';
