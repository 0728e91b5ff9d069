// Puts each program of this checkout into one file, which starts in a third of the time, unless that file is current.
import { mainOf } from '../../cmd/bin/main-of.mjs';
import { bundleCheckout } from './bundle.mjs';

if (!mainOf('kedge').endsWith('.bundle.js') || !mainOf('kedged').endsWith('.bundle.js'))
  await bundleCheckout();
