export { createLocalHostDriver as createDriver } from './driver.js';
