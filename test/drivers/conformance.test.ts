import { driverConformance } from '@kedge/driver-sdk/conformance';
import { subjectFolder, subjects } from './conformance-subjects.js';
import { cleanUp, requireDevices } from './devices.js';
import { third, seed } from '../fixtures/seed.js';

/**
 * "all" runs the suite on every subject. Otherwise the seed selects one file system of each driver, and a third of the
 * checks on block devices, where a check starts twenty programs.
 */
const whole = process.env['KEDGE_CONFORMANCE'] === 'all';
const chosen = subjects.filter(({ turn }) => whole || turn === undefined || turn === seed % 2);

before(() => {
  console.log(
    `    ${chosen.length} of ${subjects.length} subjects of the suite, KEDGE_SEED=${seed}`,
  );
});

for (const { name, devices, start, options } of chosen)
  describe(`driver conformance: ${name}`, function () {
    this.timeout(180_000);
    let folder: string;
    let stop: (() => Promise<void>) | undefined;
    const leftOut: string[] = [];

    before(async function () {
      if (devices) requireDevices(this);
      folder = await subjectFolder();
      stop = await start?.(folder);
    });
    after(async () => {
      console.log(`      ${sample.length} of ${checks.length} checks`);
      for (const line of leftOut) console.log(`      left out: ${line}`);
      await stop?.();
      if (folder) await cleanUp(folder);
    });
    // The names are needed before the folder exists; the options only when a case runs.
    const checks = [...driverConformance(options('')).entries()];
    const sample = devices && !whole ? third(checks) : checks;
    for (const [index, { name: check, behaviour }] of sample)
      it(`${check}: ${behaviour}`, async () => {
        const outcome = await driverConformance(options(folder))[index]!.run();
        if (outcome.type === 'leftOut') leftOut.push(`${check}: ${outcome.reason}`);
      });
  });
