// npm run check: everything that a commit must pass, fast checks first. --no-tests skips the unit tests.
import { runParts, unitParts } from './parts.mjs';
import { compile, demandNode, install, run } from './steps.mjs';

demandNode();
install();
run('format', 'biome', ['format', '.']);
compile();
run('lint', 'eslint', ['--max-warnings=0', '.']);
run('boundaries', 'node', ['scripts/boundaries.mjs']);
run('unused', 'knip', []);
run('proto lint', 'buf', ['lint']);
run('proto compatibility', 'buf', ['breaking', 'proto', '--against', 'proto/baseline.binpb']);
run('generated code', 'node', ['scripts/generate.mjs', '--check']);
if (!process.argv.includes('--no-tests')) await runParts(unitParts());
