import { DriverError } from '../errors/errors.js';
import type { PermissionReport } from '../contract/provider-report.js';
import { installation, missingPrograms, type RunCommand } from '../node/run-command.js';

/**
 * Reports whether the programs that a class needs are installed on this node: one row for each missing program, or one
 * row for all if none is missing. If that can't be determined, the single row has state `unknown`. Throws nothing.
 * @param needed the purpose of the programs, as in {@link PermissionReport}
 */
export async function programReports(
  run: RunCommand,
  programs: readonly string[],
  needed: string,
  signal: AbortSignal,
): Promise<readonly PermissionReport[]> {
  try {
    const missing = await missingPrograms(run, programs, signal);
    if (missing.length === 0)
      return [{ permission: 'programs', state: 'ok', needed, message: programs.join(', ') }];
    return missing.map((program) => ({
      permission: `program ${program}`,
      state: 'missing',
      needed,
      message: `is not installed on this node; ${installation([program])}`,
    }));
  } catch (thrown) {
    const { message } = DriverError.from(thrown);
    return [{ permission: 'programs', state: 'unknown', needed, message }];
  }
}
