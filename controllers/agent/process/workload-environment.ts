import { readFile } from 'node:fs/promises';
import { programPath } from '../launch/process-table.js';

/** Names of the variables that carry those of a workload. They have no meaning for programs. */
const countName = 'KEDGE_ENV_COUNT';
const carrier = (n: number): string => `KEDGE_ENV_${n}`;
/** The workload's search path, to find the mount of its program. */
const pathName = 'KEDGE_WORKLOAD_PATH';
const programName = 'KEDGE_BECOME';

/**
 * A shell program that sets the variables of a workload and executes its command. It keeps its state in positional
 * parameters, so that no variable of the workload can change it.
 */
const become = (otherwise: string): string =>
  [
    'set -- -- "$@"',
    `while [ "$${countName}" -gt 0 ]; do`,
    `eval "set -- \\"\\$KEDGE_ENV_$${countName}\\" \\"\\$@\\"; unset KEDGE_ENV_$${countName}"`,
    `${countName}=$((${countName} - 1))`,
    'done',
    `unset ${countName} ${pathName} ${programName} OLDPWD`,
    // Names that a shell can't set or reserves are omitted.
    `while [ "$1" != -- ]; do command export "$1" 2>/dev/null || ${otherwise}; shift; done`,
    'shift',
    'exec "$@"',
  ].join('\n');

/** Executes a command in a workload, with its own output. */
export const becomeCommand = become(':');

/** Executes the command of a workload; its log lists missing variables. */
const becomeWorkload = become(
  `printf '%s\\n' "kedge: variable \${1%%=*} is not set: a shell can't set a variable of that name" >&2`,
);

/**
 * The environment for the programs that start a workload. It carries the workload's variables as values, which the
 * shell sets last. `PATH` or `LD_PRELOAD` of a workload therefore affect no code outside of it.
 */
export function carriedEnvironment(env: Readonly<Record<string, string>>): Record<string, string> {
  const whole = Object.entries({ PATH: programPath, ...env });
  const carried: Record<string, string> = Object.fromEntries(
    whole.map(([name, value], n) => [carrier(n + 1), `${name}=${value}`]),
  );
  return {
    ...carried,
    [countName]: String(whole.length),
    [pathName]: env.PATH ?? programPath,
    [programName]: becomeWorkload,
    PATH: programPath,
  };
}

/** The initial environment of the command of a running workload. */
export async function startedWith(pid: number): Promise<Record<string, string>> {
  const text = await readFile(`/proc/${pid}/environ`, 'utf8');
  const env = parsed(text.split('\0'));
  const count = Number(env[countName] ?? -1);
  if (count >= 0) return parsed(Array.from({ length: count }, (_, n) => env[carrier(n + 1)] ?? ''));
  // An earlier release put the variables into the environment of its programs.
  const { [pathName]: path, ...rest } = env;
  return path === undefined ? env : { ...rest, PATH: path };
}

function parsed(entries: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    entries
      .filter((entry) => entry.includes('='))
      .map((entry) => [entry.slice(0, entry.indexOf('=')), entry.slice(entry.indexOf('=') + 1)]),
  );
}
