import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { root } from '../acceptance/daemon.js';
import { soaks } from './suites.js';

const names = Object.entries(soaks).map(([name, { summary }]) => `  ${name.padEnd(14)} ${summary}`);
const usage = `usage: npm run soak -- NAME [MOCHA ARGUMENTS]\n${names.join('\n')}`;

const [name = '', ...rest] = process.argv.slice(2);
const soak = soaks[name];
if (!soak) {
  console.error(name === '' ? usage : `no suite "${name}"\n${usage}`);
  process.exit(2);
}
const mocha = join(root, 'node_modules/.bin/mocha');
const { status } = spawnSync(mocha, ['--timeout', '0', ...soak.specs, ...rest], {
  cwd: root,
  stdio: 'inherit',
  env: { ...process.env, ...soak.environment },
});
process.exit(status ?? 1);
