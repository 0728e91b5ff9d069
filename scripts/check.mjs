// npm run check: everything that a commit must pass, fast checks first. --no-tests skips the unit tests.
import { runParts, unitParts } from './parts.mjs';
import { compile, install, requireNode, run, runTogether } from './steps.mjs';

requireNode();
install();
run('format', 'biome', ['format', '.']);
compile();
// The linter takes as long as the other steps together.
await runTogether([
  [['lint', 'eslint', ['--max-warnings=0', '.']]],
  [
    ['boundaries', 'node', ['scripts/boundaries.mjs']],
    ['unused', 'knip', []],
    ['proto lint', 'buf', ['lint']],
    ['proto compatibility', 'buf', ['breaking', 'proto', '--against', 'proto/baseline.binpb']],
    ['generated code', 'node', ['scripts/generate.mjs', '--check']],
    ['reference', 'typedoc', ['--emit', 'none']],
  ],
]);
if (!process.argv.includes('--no-tests')) await runParts(unitParts());
