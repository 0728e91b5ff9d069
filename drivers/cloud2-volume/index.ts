export { createCloud2VolumeDriver as createDriver } from './driver.js';
