import type { Command } from 'commander';
import pc from 'picocolors';
import { StatusError } from 'kedge/objects';
import type { JsonObject } from 'kedge/rpc';
import { connect } from '../../connection/api.js';
import { located, placed, readCastFiles } from '../../files/cast-file.js';
import { type FileOptions, filesOf, withFiles } from '../../files/file-arguments.js';
import { installation } from '../../../installation.js';
import { interruptible } from '../../program/interruption.js';
import { withExamples } from '../../program/examples.js';
import { waitSecondsMax, wholeNumber } from '../../program/number-option.js';
import { note, print } from '../../output/output.js';
import { type CastResult, waitForCast } from '../../connection/wait.js';

interface CastOptions extends FileOptions {
  readonly namespace?: string;
  readonly dryRun?: boolean;
  readonly wait: boolean;
  readonly timeout: number;
}

const marks = { created: pc.green('+'), updated: pc.yellow('~'), unchanged: pc.dim('=') } as const;

function planLine(result: CastResult): string {
  const name = result.namespace ? `${result.namespace}/${result.name}` : result.name;
  const changes = result.changes.length > 0 ? ` (${result.changes.join(', ')})` : '';
  return `  ${marks[result.action]} ${result.kind} ${name} ${pc.dim(result.action)}${changes}`;
}

/** The state after an interrupted wait, with commands that reach the namespaces of the objects. */
function goesOn(results: readonly CastResult[], namespace: string | undefined): string {
  const { kedge } = installation();
  const used = new Set(results.map((result) => result.namespace).filter((name) => name !== ''));
  const [only = 'default'] = used;
  const place = used.size > 1 ? ' -A' : only === 'default' ? '' : ` -n ${only}`;
  const given = namespace === undefined ? '' : ` -n ${namespace}`;
  return `the objects are stored, and kedged continues; ${kedge} get all${place} shows their status, and ${kedge} delete -f FILE${given} deletes them`;
}

async function cast(paths: readonly string[], options: CastOptions): Promise<void> {
  const items = (await readCastFiles(filesOf(paths, options))).map((item) =>
    placed(item, options.namespace),
  );
  const client = await connect();
  const objects = items.map(({ kind, object }) => ({ kind, object }));
  const call = async (dryRun: boolean): Promise<JsonObject> => {
    try {
      return await client.call('CastService.Cast', { objects, dryRun });
    } catch (error) {
      throw error instanceof StatusError ? located(error, items) : error;
    }
  };
  try {
    const plan = await call(true);
    print(options.dryRun ? 'Plan (dry run, nothing is stored):' : 'Plan:');
    for (const result of resultsOf(plan)) print(planLine(result));
    if (options.dryRun) return;
    const results = resultsOf(await call(false));
    if (options.wait)
      await interruptible(goesOn(results, options.namespace), () =>
        waitForCast(client, results, options.timeout * 1_000),
      );
    else note('Stored; not waiting for the objects to run.');
  } finally {
    client.close();
  }
}

function resultsOf(answer: JsonObject): readonly CastResult[] {
  const results = (answer.results ?? []) as readonly Partial<CastResult>[];
  return results.map((r) => ({
    kind: r.kind ?? '',
    namespace: r.namespace ?? '',
    name: r.name ?? '',
    action: r.action ?? 'unchanged',
    changes: r.changes ?? [],
  }));
}

/** Adds `kedge cast FILES...`. */
export function addCast(program: Command): void {
  const command = withFiles(program.command('cast').alias('apply'))
    .description('create or replace objects from files, and wait until they run')
    .addHelpText(
      'after',
      '\nAn object with metadata.resourceVersion is replaced only if it still has that version.',
    )
    .option('-n, --namespace <name>', 'namespace of objects without one')
    .option('--dry-run', 'check all objects without storing them')
    .option('--wait', 'wait until the objects run; this is the default', true)
    .option('--no-wait', 'return once all objects are stored')
    .option('--timeout <seconds>', 'maximum wait', wholeNumber('--timeout', waitSecondsMax), 300)
    .action((paths: string[], options: CastOptions) => cast(paths, options));
  withExamples(
    command,
    ['kedge cast docs/examples/journal.yaml', 'Create or change the objects of a file, and wait'],
    [
      'kedge cast docs/examples --dry-run',
      'Show the changes that the files of a directory would make',
    ],
    ['kedge apply -n dev --no-wait - < docs/examples/settings.yaml', 'From standard input'],
  );
}
