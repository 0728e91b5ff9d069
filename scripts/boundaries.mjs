// Checks import boundaries and cycles, and the number of checked modules: with an unsupported compiler the tool
// checks no modules and reports success.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { root } from './steps.mjs';

const modulesMin = 1_000;
const folders = ['lib', 'proto', 'drivers', 'controllers', 'cmd', 'test'];
const args = [...folders, '--config', '.dependency-cruiser.cjs', '--output-type', 'json'];
const bin = join(root, 'node_modules/.bin/depcruise');
const result = spawnSync(bin, args, { cwd: root, encoding: 'utf8', maxBuffer: 2 ** 28 });
if (!result.stdout) {
  console.error(result.stderr);
  process.exit(1);
}
const { summary } = JSON.parse(result.stdout);
for (const violation of summary.violations)
  console.error(`${violation.rule.name}: ${violation.from} -> ${violation.to}`);
console.error(`${summary.totalCruised} modules, ${summary.totalDependenciesCruised} imports`);
if (summary.totalCruised < modulesMin) {
  console.error(
    `only ${summary.totalCruised} modules were cruised, and at least ${modulesMin} are expected`,
  );
  process.exit(1);
}
process.exit(summary.violations.length > 0 ? 1 : 0);
