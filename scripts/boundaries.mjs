// Checks import boundaries, cycles of files and of folders, and the number of checked modules: with an unsupported
// compiler the tool checks no modules and reports success.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { folderCycles } from './checks/folder-cycles.mjs';
import { root } from './steps.mjs';

const modulesMin = 1_000;
const cruised = ['lib', 'proto', 'drivers', 'controllers', 'cmd', 'test'];
const args = [...cruised, '--config', '.dependency-cruiser.cjs', '--output-type', 'json'];
const bin = join(root, 'node_modules/.bin/depcruise');
const result = spawnSync(bin, args, { cwd: root, encoding: 'utf8', maxBuffer: 2 ** 28 });
if (!result.stdout) {
  console.error(result.stderr);
  process.exit(1);
}
const { modules, summary } = JSON.parse(result.stdout);
for (const violation of summary.violations)
  console.error(`${violation.rule.name}: ${violation.from} -> ${violation.to}`);
const cycles = folderCycles(modules);
for (const { parent, folders } of cycles)
  console.error(`no cycles of folders: ${parent}: ${folders.join(', ')} import each other`);
console.error(`${summary.totalCruised} modules, ${summary.totalDependenciesCruised} imports`);
if (summary.totalCruised < modulesMin) {
  console.error(
    `only ${summary.totalCruised} modules were cruised, and at least ${modulesMin} are expected`,
  );
  process.exit(1);
}
process.exit(summary.violations.length + cycles.length > 0 ? 1 : 0);
