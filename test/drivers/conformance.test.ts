import { driverConformance } from '@kedge/driver-sdk/conformance';
import { subjectFolder, subjects } from './conformance-subjects.js';
import { cleanUp, requireDevices } from './devices.js';

/** "all" runs the suite on every subject, otherwise on one file system of each driver, which the seed selects. */
const whole = process.env['KEDGE_CONFORMANCE'] === 'all';
const seed = Number(process.env['KEDGE_SEED'] ?? Date.now() % 100_000);
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
      for (const line of leftOut) console.log(`      left out: ${line}`);
      await stop?.();
      if (folder) await cleanUp(folder);
    });
    // The names are needed before the folder exists; the options only when a case runs.
    driverConformance(options('')).forEach(({ name: check, behaviour }, index) => {
      it(`${check}: ${behaviour}`, async () => {
        const outcome = await driverConformance(options(folder))[index]!.run();
        if (outcome.type === 'leftOut') leftOut.push(`${check}: ${outcome.reason}`);
      });
    });
  });
