#!/usr/bin/env node
import { mainOf } from './main-of.mjs';

// Checked before modules are loaded, which older versions can't parse.
const [major, minor] = process.versions.node.split('.').map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  console.error(
    `kedged needs Node.js 20.19 or newer, this is ${process.versions.node}; get it at https://nodejs.org or with your package manager`,
  );
  process.exit(1);
}
// The daemon itself reports an address in use.
process.env.GRPC_VERBOSITY ??= 'NONE';
import(mainOf('kedged')).catch((error) => {
  const missing = error.code === 'ERR_MODULE_NOT_FOUND';
  console.error(
    missing ? 'kedged is not built yet: run npm start (or npm run build) first' : error,
  );
  process.exit(1);
});
