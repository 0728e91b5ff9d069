import type { Command } from 'commander';
import pc from 'picocolors';
import { type AnyKind, counted, StatusError } from 'kedge/objects';
import type { ApiClient } from 'kedge/client';
import { bodyField, isJsonObject, type JsonObject, textOf } from 'kedge/rpc';
import { printableLine } from '../../../terminal-text.js';
import { connect, kindSpelled, methodFor } from '../../connection/api.js';
import { writableOf } from '../../connection/fields.js';
import { scopeOf } from '../../connection/targets.js';
import { type CastItem, located, placed, readCastFiles } from '../../files/cast-file.js';
import { type Difference, differences, mask, masked, valueAt } from '../../files/differences.js';
import { type FileOptions, filesOf, withFiles } from '../../files/file-arguments.js';
import { print } from '../../output/output.js';
import { withExamples } from '../../program/examples.js';
import { exitCodes } from '../../program/exit-codes.js';

interface DiffOptions extends FileOptions {
  readonly namespace?: string;
}

/** Fields with possible secrets: values of a file are masked like the server's. */
const mayBeSecret = ['data', 'parameters'];

interface Result {
  readonly namespace: string;
  readonly name: string;
  readonly action: string;
  readonly changes: readonly string[];
}

function inLine(value: unknown): string {
  return printableLine(typeof value === 'string' ? value : JSON.stringify(value));
}

function show({ path, before, after }: Difference): void {
  if (before !== undefined && after !== undefined)
    print(`    ${path}: ${pc.red(inLine(before))} -> ${pc.green(inLine(after))}`);
  else if (after !== undefined) print(pc.green(`  + ${path}: ${inLine(after)}`));
  else print(pc.red(`  - ${path}: ${inLine(before)}`));
}

/** The object that the server would store; undefined if unknown, for example in a new namespace. */
async function asShown(
  client: ApiClient,
  kind: AnyKind,
  object: JsonObject,
  namespace: string,
): Promise<JsonObject | undefined> {
  const request = { ...scopeOf(kind, namespace), [bodyField(kind)]: object, dryRun: true };
  try {
    return writableOf(kind, await client.call(methodFor(kind, 'Create'), request));
  } catch (error) {
    if (error instanceof StatusError) return undefined;
    throw error;
  }
}

function withMasks(object: JsonObject): JsonObject {
  const entries = Object.entries(object);
  return Object.fromEntries(
    entries.map(([name, value]) => [name, mayBeSecret.includes(name) ? masked(value) : value]),
  );
}

/** Prints each field that the file sets, for an object that would be created. */
async function showCreated(client: ApiClient, item: CastItem, kind: AnyKind): Promise<void> {
  const { name: _name, namespace, ...fields } = item.object;
  const shown =
    (await asShown(client, kind, item.object, textOf({ namespace }, 'namespace') || 'default')) ??
    withMasks(item.object);
  const given = Object.keys(fields);
  for (const difference of differences({}, Object.fromEntries(given.map((f) => [f, shown[f]]))))
    show(difference);
}

/** The differences below one changed field. Values that the server masks are masked on both sides. */
function changed(path: string, stored: JsonObject, item: CastItem): readonly Difference[] {
  const before = valueAt(stored, path);
  const after = valueAt(item.object, path);
  if (!JSON.stringify(before ?? '').includes(mask)) return differences(before, after, path);
  const found = differences(before, masked(after), path);
  // Masked on both sides: only the fact of the change can be shown.
  return found.length > 0
    ? found
    : [{ path, before: masked(before), after: `${mask} (another value)` }];
}

/**
 * The added, removed and changed keys of a secret. The server compares them in one dry run per key, because it does
 * not return values.
 */
async function changedKeys(
  client: ApiClient,
  stored: JsonObject,
  { kind, object }: CastItem,
): Promise<readonly Difference[]> {
  const before = isJsonObject(stored.data) ? stored.data : {};
  const after = isJsonObject(object.data) ? object.data : {};
  const found = [...differences(masked(before), masked(after), 'data')];
  for (const [key, value] of Object.entries(after)) {
    if (!Object.hasOwn(before, key)) continue;
    const one = { kind, object: { ...object, data: { ...before, [key]: value } } };
    const answer = await client.call('CastService.Cast', { objects: [one], dryRun: true });
    const [result] = (answer.results ?? []) as readonly unknown[] as readonly Result[];
    if (result?.changes.includes('data'))
      found.push({ path: `data.${key}`, before: mask, after: `${mask} (another value)` });
  }
  return found;
}

async function showUpdated(
  client: ApiClient,
  kind: AnyKind,
  item: CastItem,
  { namespace, name, changes }: Result,
): Promise<void> {
  const request = { ...scopeOf(kind, namespace), name };
  const stored = writableOf(kind, await client.call(methodFor(kind, 'Get'), request));
  for (const path of changes) {
    const secret = kind.kind === 'Secret' && path === 'data';
    const found = secret ? await changedKeys(client, stored, item) : changed(path, stored, item);
    for (const difference of found) show(difference);
  }
}

async function diff(paths: readonly string[], options: DiffOptions): Promise<void> {
  const items = (await readCastFiles(filesOf(paths, options))).map((item) =>
    placed(item, options.namespace),
  );
  const client = await connect();
  try {
    const objects = items.map(({ kind, object }) => ({ kind, object }));
    const answer = await client
      .call('CastService.Cast', { objects, dryRun: true })
      .catch((error: unknown) => {
        throw error instanceof StatusError ? located(error, items) : error;
      });
    const results = (answer.results ?? []) as readonly unknown[] as readonly Result[];
    let differing = 0;
    for (const [at, result] of results.entries()) {
      const { action, namespace, name } = result;
      const item = items[at];
      const kind = item && kindSpelled(item.kind);
      if (!item || !kind || action === 'unchanged') continue;
      differing += 1;
      const label = `${kind.kind} ${namespace ? `${namespace}/` : ''}${name}`;
      print(`${action === 'created' ? pc.green('+') : pc.yellow('~')} ${label} ${action}`);
      if (action === 'created') await showCreated(client, item, kind);
      else await showUpdated(client, kind, item, result);
    }
    if (differing === 0)
      print(
        `No differences: ${counted(items.length, 'object matches', 'objects match')} the files.`,
      );
    else process.exitCode = exitCodes.error;
  } finally {
    client.close();
  }
}

/** Adds `kedge diff FILES...`. */
export function addDiff(program: Command): void {
  const command = withFiles(program.command('diff'))
    .description(
      'show the changes that a cast of files would make; exit code 1 if there are differences',
    )
    .addHelpText('after', '\nValues of secrets are masked. No object is stored.')
    .option('-n, --namespace <name>', 'namespace of objects without one')
    .action((paths: string[], options: DiffOptions) => diff(paths, options));
  withExamples(
    command,
    ['kedge diff docs/examples/journal.yaml', 'The changes, value by value'],
    ['kedge diff docs/examples || kedge cast docs/examples', 'Cast only if there are differences'],
  );
}
