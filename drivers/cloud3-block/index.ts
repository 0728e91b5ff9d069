export { createCloud3BlockDriver as createDriver } from './driver.js';
