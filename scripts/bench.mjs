// npm run bench: builds and measures. Arguments go to test/bench/main.ts; see --help.
import { build, install, requireNode, run } from './steps.mjs';

requireNode();
install();
build();
run('benchmarks', 'node', ['test/dist/bench/main.js', ...process.argv.slice(2)]);
