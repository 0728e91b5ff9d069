// npm run soak -- NAME: builds and runs one suite at its full length. Arguments go to test/soak/main.ts.
import { build, install, installProviderPackages, requireNode, run } from './steps.mjs';

requireNode();
install();
installProviderPackages();
build();
run('soak', 'node', ['test/dist/soak/main.js', ...process.argv.slice(2)]);
