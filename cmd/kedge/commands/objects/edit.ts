import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { Command } from 'commander';
import { hasCode, invalid, StatusError } from 'kedge/objects';
import type { ApiClient } from 'kedge/client';
import { isJsonObject, type JsonObject } from 'kedge/rpc';
import { connect } from '../../connection/api.js';
import { requireWritable } from '../../connection/fields.js';
import { objectsNamedBy, slashed, type Target } from '../../connection/targets.js';
import { putObject, readObject } from '../../connection/update.js';
import { readCastFiles } from '../../files/cast-file.js';
import { castable, print } from '../../output/output.js';
import { withExamples } from '../../program/examples.js';
import { usageError } from '../../output/usage.js';
import { hintAtPlaces } from './place-labels.js';

interface EditOptions {
  readonly namespace: string;
}

/** Runs the editor on a file. @throws StatusError if it can't be run or fails */
async function openEditor(file: string): Promise<void> {
  const { KEDGE_EDITOR, VISUAL, EDITOR } = process.env;
  const editor = KEDGE_EDITOR || VISUAL || EDITOR || 'vi';
  const code = await new Promise<number | null>((resolve, reject) => {
    // As in other programs, the variable may contain arguments.
    const child = spawn('/bin/sh', ['-c', `${editor} "$1"`, 'sh', file], { stdio: 'inherit' });
    child.on('error', reject);
    child.on('close', resolve);
  });
  if (code === 0) return;
  throw new StatusError({
    code: 'Unknown',
    reason: 'EditorFailed',
    message: `the editor (${editor}) ended with exit code ${code ?? 'none'}, and nothing was changed; set EDITOR to use another editor`,
  });
}

function header(target: Target): string {
  return `# ${slashed(target)}: edit it, save this file, and exit the editor. Without a change nothing is written.\n# Masked values (********) are kept.\n`;
}

async function edited(file: string, { kind, name }: Target): Promise<JsonObject> {
  const items = await readCastFiles([file]);
  const [item] = items;
  if (!item || items.length > 1)
    throw invalid([{ field: file, description: 'must contain exactly the edited object' }]);
  if (item.kind !== kind.kind || item.object.name !== name)
    throw invalid([{ field: item.locate('name'), description: "kind and name can't be changed" }]);
  return item.object;
}

/** The edited object with the version that was read, regardless of the text. */
function withMetadataOf(read: JsonObject, object: JsonObject): JsonObject {
  const own = isJsonObject(object.metadata) ? object.metadata : {};
  const { resourceVersion } = isJsonObject(read.metadata) ? read.metadata : {};
  return { ...object, metadata: { ...own, resourceVersion } };
}

/** The labels that an object did not have before. */
function newLabels(read: JsonObject, { labels }: JsonObject): JsonObject {
  const before = isJsonObject(read.labels) ? read.labels : {};
  const after = Object.entries(isJsonObject(labels) ? labels : {});
  return Object.fromEntries(after.filter(([key]) => !Object.hasOwn(before, key)));
}

/** Maximum number of consecutive conflicts with a controller. */
const triesMax = 5;

/** An object without the metadata that each write changes, which shows whether the object itself was changed. */
function written(object: JsonObject): JsonObject {
  const {
    resourceVersion: _version,
    updatedAt: _at,
    ...metadata
  } = isJsonObject(object.metadata) ? object.metadata : {};
  return { ...object, metadata };
}

/**
 * Writes the edited object. A status change meanwhile is not a conflict, for example that of a crash-looping workload.
 * @returns whether the write changed anything
 * @throws StatusError Aborted if another writer changed the object itself
 */
async function putEdited(
  client: ApiClient,
  target: Target,
  read: JsonObject,
  object: JsonObject,
  namespace: string,
): Promise<boolean> {
  let current = object;
  for (let tries = 1; ; tries += 1)
    try {
      return await putObject(client, target, current, { namespace });
    } catch (error) {
      if (!hasCode(error, 'Aborted') || tries === triesMax) throw error;
      const now = await readObject(client, target, namespace);
      if (!isDeepStrictEqual(written(now), written(read))) throw error;
      current = withMetadataOf(now, object);
    }
}

/** Returns the error with the path of the edited text, which would be lost otherwise. */
function keptIn(file: string, error: unknown): unknown {
  const next = hasCode(error, 'Aborted')
    ? 'another client changed the object; edit it again, and copy your changes from the file'
    : 'fix it, or edit the object again';
  if (error instanceof StatusError && error.violations.length > 0)
    return new AggregateError([error, new Error(`your text is kept in ${file}: ${next}`)]);
  if (!(error instanceof StatusError)) return error;
  const { code, reason, message, resource } = error;
  return new StatusError({
    code,
    reason,
    message: `${message}; your text is kept in ${file}: ${next}`,
    ...(resource ? { resource } : {}),
  });
}

async function editOne(client: ApiClient, target: Target, namespace: string): Promise<void> {
  const read = await readObject(client, target, namespace);
  const folder = await mkdtemp(join(tmpdir(), 'kedge-edit-'));
  const file = join(folder, `${target.kind.kind.toLowerCase()}-${target.name}.yaml`);
  const { stringify } = await import('../../output/yaml.js');
  await writeFile(file, `${header(target)}${stringify(castable(target.kind, read))}`, {
    mode: 0o600,
  });
  const before = await readFile(file, 'utf8');
  let keep = false;
  try {
    await openEditor(file);
    if ((await readFile(file, 'utf8')) === before) {
      print(`${slashed(target)} unchanged`);
      return;
    }
    keep = true;
    const object = withMetadataOf(read, await edited(file, target));
    requireWritable(target.kind, object);
    hintAtPlaces([target], newLabels(read, object));
    const same = isDeepStrictEqual(object, read);
    const changed = !same && (await putEdited(client, target, read, object, namespace));
    keep = false;
    print(`${slashed(target)} ${changed ? 'changed' : 'unchanged'}`);
  } catch (error) {
    throw keep ? keptIn(file, error) : error;
  } finally {
    if (!keep) await rm(folder, { recursive: true, force: true });
  }
}

async function edit(words: readonly string[], { namespace }: EditOptions): Promise<void> {
  const [target, ...others] = objectsNamedBy(words);
  if (!target || others.length > 0) throw usageError('edit one object at a time');
  const client = await connect();
  try {
    await editOne(client, target, namespace);
  } finally {
    client.close();
  }
}

/** Adds `kedge edit TYPE NAME`. */
export function addEdit(program: Command): void {
  const command = program
    .command('edit')
    .argument('<words...>', 'TYPE NAME or TYPE/NAME')
    .description('change an object as YAML in your editor (KEDGE_EDITOR, VISUAL, EDITOR, else vi)')
    .addHelpText(
      'after',
      '\nIf the object was changed meanwhile, nothing is written: the command fails (exit code 5), and your\ntext is kept in a file.',
    )
    .option('-n, --namespace <name>', 'namespace', 'default')
    .action((words: string[], options: EditOptions) => edit(words, options));
  withExamples(
    command,
    ['kedge edit service web', 'Change a service'],
    ['EDITOR=nano kedge edit volume/data -n prod', 'With another editor'],
  );
}
