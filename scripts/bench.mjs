// npm run bench: builds and measures. Arguments go to test/bench/main.ts; see --help.
import { build, demandNode, install, run } from './steps.mjs';

demandNode();
install();
build();
run('benchmarks', 'node', ['test/dist/bench/main.js', ...process.argv.slice(2)]);
