export { createCloud1VolumeDriver as createDriver } from './driver.js';
