// npm run release: builds the packages for installations, the tarballs for npm and the Debian package, into
// dist/release. `npm run release -- tarballs` or `-- deb [amd64|arm64]` builds one of the two.
import { join } from 'node:path';
import { architectures, debianPackage } from './release/debian-package.mjs';
import { build, install, requireNode, root } from './steps.mjs';
import { tarballs } from './release/tarballs.mjs';

const [what = 'all', architecture = process.arch === 'arm64' ? 'arm64' : 'amd64'] =
  process.argv.slice(2);
if (!['all', 'tarballs', 'deb'].includes(what) || !Object.hasOwn(architectures, architecture)) {
  console.error('usage: npm run release [-- tarballs | deb [amd64|arm64]]');
  process.exit(2);
}
requireNode();
install();
build();
const folder = join(root, 'dist/release');
if (what !== 'deb') for (const file of tarballs(folder).values()) console.log(file);
if (what !== 'tarballs') console.log(await debianPackage(folder, architecture));
