// A root hook of mocha: it fails if suites that use root or containers leave resources on the machine. Other suites run
// at the same time, so each process has one directory for its temporary files, which identifies its resources.
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from 'kedge/testing';
import { differences, machineState } from './machine.js';

/** Folders of test/ whose suites use root or containers. */
const rooms = [
  'acceptance/access',
  'acceptance/api',
  'acceptance/cli',
  'acceptance/data',
  'acceptance/lifetime',
  'acceptance/nodes',
  'acceptance/storage',
  'acceptance/workloads',
  'boxes',
  'containers',
  'docs',
  'drivers',
  'emulators',
  'leftovers',
  'storage',
  'upgrade',
  'why',
];
/** Maximum wait until ended processes and unmounted file systems disappear, milliseconds. */
const patienceMs = 10_000;

const specs = process.argv.filter((word) => word.includes('test/dist/'));
const uses = (room: string): boolean => specs.some((spec) => spec.includes(`test/dist/${room}/`));

function hooks(): object {
  const directory = mkdtempSync(join(tmpdir(), 'kt-'));
  // Tests act as other users too.
  chmodSync(directory, 0o1777);
  process.env['TMPDIR'] = directory;
  const looked = { directory, firewall: uses('containers') };
  let before = machineState(looked);
  const check = async (): Promise<void> => {
    let left: readonly string[] = [];
    await eventually(
      'the machine to be as before',
      () => {
        left = differences(before, machineState(looked));
        return left.length === 0;
      },
      patienceMs,
    ).catch(() => undefined);
    // Each resource is reported once.
    before = machineState(looked);
    if (left.length > 0) throw new Error(`left on the machine:\n${left.join('\n')}`);
  };
  return {
    beforeAll(this: Mocha.Context): void {
      // After the hooks of each suite.
      for (const suite of this.test?.parent?.suites ?? [])
        suite.afterAll('leaves nothing on the machine', function () {
          this.timeout(6 * patienceMs);
          return check();
        });
    },
    afterAll(): void {
      const { length } = differences(new Set(), machineState({ ...looked, firewall: false }));
      // The removal would delete the content of remaining mounts.
      if (length === 0) rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** Read by mocha. */
export const mochaHooks = process.getuid?.() === 0 && rooms.some(uses) ? hooks() : {};
