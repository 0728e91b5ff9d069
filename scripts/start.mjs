// npm start: installs and builds missing parts, then becomes the daemon with the local profile.
import { build, install, requireNode } from './steps.mjs';

requireNode();
if (process.platform !== 'linux') {
  console.error('kedged runs on Linux; the library (workspace lib) runs on macOS too');
  process.exit(1);
}
install();
build();
process.argv.splice(2, 0, '--local');
const { mainOf } = await import('../cmd/bin/main-of.mjs');
// Relative to cmd/bin.
await import(new URL(mainOf('kedged'), new URL('../cmd/bin/', import.meta.url)).href);
