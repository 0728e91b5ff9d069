// Writes docs/reference/cli.md from the commands of kedge. `--check` fails if it differs from the committed one.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { kedgeProgram } from '../cmd/dist/kedge/program/program.js';
import { referencePage } from '../cmd/dist/kedge/program/reference.js';

const file = join(fileURLToPath(new URL('..', import.meta.url)), 'docs/reference/cli.md');
const page = referencePage(kedgeProgram());
if (!process.argv.includes('--check')) writeFileSync(file, page);
else if (readFileSync(file, 'utf8') !== page) {
  console.error('docs/reference/cli.md differs: run node scripts/cli-reference.mjs');
  process.exit(1);
}
