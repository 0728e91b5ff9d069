import type { Command } from 'commander';
import { failedPrecondition, invalid } from 'kedge/objects';
import { isJsonObject, type JsonObject } from 'kedge/rpc';
import { connect } from '../../connection/api.js';
import { forEachTarget, objectsNamedBy, slashed } from '../../connection/targets.js';
import { changeObject } from '../../connection/update.js';
import { print } from '../../output/output.js';
import { withExamples } from '../../program/examples.js';
import { usageError } from '../../output/usage.js';
import { hintAtPlaces } from './place-labels.js';

interface MarkOptions {
  readonly namespace: string;
  readonly overwrite?: boolean;
  readonly dryRun?: boolean;
}

/** The changes of labels or annotations: `KEY=VALUE` sets a value, and `KEY-`, here undefined, removes the key. */
type Marks = ReadonlyMap<string, string | undefined>;

function marksOf(words: readonly string[]): Marks {
  return new Map(
    words.map((word): [string, string | undefined] => {
      const at = word.indexOf('=');
      if (at > 0) return [word.slice(0, at), word.slice(at + 1)];
      if (word.endsWith('-') && word.length > 1 && at < 0) return [word.slice(0, -1), undefined];
      throw invalid([
        { field: word, description: 'must be KEY=VALUE, or KEY- to remove that key' },
      ]);
    }),
  );
}

function marked(before: unknown, marks: Marks, what: string, overwrite: boolean): JsonObject {
  const after = new Map(Object.entries(isJsonObject(before) ? before : {}));
  for (const [key, value] of marks) {
    const now = after.get(key);
    if (value === undefined) after.delete(key);
    else if (now === undefined || now === value || overwrite) after.set(key, value);
    else
      throw failedPrecondition(
        'ValueExists',
        `${what} ${key} already is ${JSON.stringify(now)}; --overwrite replaces it`,
      );
  }
  return Object.fromEntries(after);
}

async function mark(
  what: 'label' | 'annotation',
  words: readonly string[],
  { namespace, overwrite = false, dryRun = false }: MarkOptions,
): Promise<void> {
  // Names never end with a dash, but `KEY-` does.
  const isMark = (word: string): boolean => word.includes('=') || word.endsWith('-');
  const marks = marksOf(words.filter(isMark));
  const targets = objectsNamedBy(words.filter((word) => !isMark(word)));
  if (marks.size === 0)
    throw usageError(`no change is given: use KEY=VALUE, or KEY- to remove a key`);
  const change = (object: JsonObject): JsonObject => {
    if (what === 'label')
      return { ...object, labels: marked(object.labels, marks, what, overwrite) };
    const metadata = isJsonObject(object.metadata) ? object.metadata : {};
    const annotations = marked(metadata.annotations, marks, what, overwrite);
    return { ...object, metadata: { ...metadata, annotations } };
  };
  if (what === 'label') hintAtPlaces(targets, Object.fromEntries(marks));
  const client = await connect();
  try {
    await forEachTarget(targets, async (target) => {
      const changed = await changeObject(client, target, { namespace, dryRun, change });
      const done = changed ? `${what}s changed` : 'unchanged';
      print(`${slashed(target)} ${done}${dryRun ? ' (dry run)' : ''}`);
    });
  } finally {
    client.close();
  }
}

/** Adds `kedge label TYPE NAME... KEY=VALUE...`. */
export function addLabel(program: Command): void {
  const label = program
    .command('label')
    .argument('<words...>', 'TYPE NAME... or TYPE/NAME..., then KEY=VALUE to set, KEY- to remove')
    .description('set and remove labels')
    .option('-n, --namespace <name>', 'namespace', 'default')
    .option('--overwrite', 'replace existing values')
    .option('--dry-run', 'check the change without storing it')
    .action((words: string[], options: MarkOptions) => mark('label', words, options));
  withExamples(
    label,
    ['kedge label volume data tier=gold', 'Set a label'],
    [
      'kedge label volume/data service/web tier=silver --overwrite',
      'Replace a label of two objects',
    ],
    ['kedge label volume data tier-', 'Remove it'],
  );
}

/** Adds `kedge annotate TYPE NAME... KEY=VALUE...`. */
export function addAnnotate(program: Command): void {
  const annotate = program
    .command('annotate')
    .argument('<words...>', 'TYPE NAME... or TYPE/NAME..., then KEY=VALUE to set, KEY- to remove')
    .description('set and remove annotations')
    .option('-n, --namespace <name>', 'namespace', 'default')
    .option('--overwrite', 'replace existing values')
    .option('--dry-run', 'check the change without storing it')
    .action((words: string[], options: MarkOptions) => mark('annotation', words, options));
  withExamples(
    annotate,
    ['kedge annotate service web owner=ada', 'Set an annotation'],
    ['kedge annotate service/web owner-', 'Remove it'],
  );
}
