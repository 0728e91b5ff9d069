// Writes docs/reference/reasons.md from the table of reasons. `--check` fails if it differs from the committed one.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { reasonsPage } from '../cmd/dist/kedge/program/reasons-page.js';

const file = join(fileURLToPath(new URL('..', import.meta.url)), 'docs/reference/reasons.md');
const page = reasonsPage();
if (!process.argv.includes('--check')) writeFileSync(file, page);
else if (readFileSync(file, 'utf8') !== page) {
  console.error('docs/reference/reasons.md differs: run node scripts/reasons-page.mjs');
  process.exit(1);
}
