// npm run emulators: builds and runs providers that behave like the real ones. Arguments go to
// test/emulators/command/main.ts; see --help.
import { resolve } from 'node:path';
import { build, install, requireNode } from '../steps.mjs';

requireNode();
install();
build();
// npm runs scripts in the project's root; the directory of the caller is in INIT_CWD.
process.chdir(resolve(process.env['INIT_CWD'] ?? '.'));
await import('../../test/dist/emulators/command/main.js');
