import { conformedRuntimes } from './conformed-runtimes.js';
import { requireEngine } from './engine.js';

describe('runtimes', function () {
  this.timeout(300_000);
  conformedRuntimes({}, requireEngine);
});
