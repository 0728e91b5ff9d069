// npm test: sets itself up and runs every suite. Arguments are passed to mocha.
import { runParts, suiteParts, unitParts } from './parts.mjs';
import { build, install, installProviderPackages, requireNode } from './steps.mjs';

requireNode();
install();
installProviderPackages();
build();
await runParts([...unitParts(), ...suiteParts()], process.argv.slice(2));
