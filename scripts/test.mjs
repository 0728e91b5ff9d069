// npm test: sets itself up and runs every suite. Arguments go to mocha.
import { build, demandNode, install, run, suiteSpecs, unitSpecs } from './steps.mjs';

demandNode();
install();
build();
run('tests', 'mocha', [...unitSpecs, ...suiteSpecs, ...process.argv.slice(2)]);
