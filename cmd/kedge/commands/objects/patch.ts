import type { Command } from 'commander';
import { invalid } from 'kedge/objects';
import { isJsonObject, type JsonObject } from 'kedge/rpc';
import { connect } from '../../connection/api.js';
import { requireWritable } from '../../connection/fields.js';
import { forEachTarget, objectsNamedBy, slashed } from '../../connection/targets.js';
import { changeObject } from '../../connection/update.js';
import { mergePatched, readPatch, setBy } from '../../files/patch.js';
import { print } from '../../output/output.js';
import { withExamples } from '../../program/examples.js';
import { hintAtPlaces } from './place-labels.js';

interface PatchOptions {
  readonly namespace: string;
  readonly patch: string;
  readonly dryRun?: boolean;
}

/**
 * Rejects a patch with a name or namespace: it would be refused later, or have a different effect than its text
 * suggests.
 * @throws StatusError InvalidArgument
 */
function requireSameName(patch: JsonObject): void {
  for (const field of ['name', 'namespace'])
    if (field in patch) throw invalid([{ field, description: "can't be changed; omit it" }]);
}

async function patchObjects(words: readonly string[], options: PatchOptions): Promise<void> {
  const { namespace, dryRun = false } = options;
  const targets = objectsNamedBy(words);
  const patch = await readPatch(options.patch);
  requireSameName(patch);
  for (const { kind } of targets) requireWritable(kind, setBy(patch));
  if (isJsonObject(patch.labels)) hintAtPlaces(targets, patch.labels);
  const client = await connect();
  try {
    await forEachTarget(targets, async (target) => {
      const change = (object: JsonObject): JsonObject => mergePatched(object, patch) as JsonObject;
      const changed = await changeObject(client, target, { namespace, dryRun, change });
      print(`${slashed(target)} ${changed ? 'patched' : 'unchanged'}${dryRun ? ' (dry run)' : ''}`);
    });
  } finally {
    client.close();
  }
}

/** Adds `kedge patch TYPE NAME... --patch PATCH`. */
export function addPatch(program: Command): void {
  const patch = program
    .command('patch')
    .argument('<words...>', 'TYPE NAME... or TYPE/NAME...')
    .requiredOption(
      '-p, --patch <patch>',
      'JSON merge patch, as JSON or YAML: null removes a field; @FILE reads a file, - standard input',
    )
    .description('change some fields of objects')
    .addHelpText(
      'after',
      '\nThe object is read, changed, and written with the version that was read; a conflict is retried.\nA list is replaced as a whole. With metadata.resourceVersion in the patch, only that version is changed.',
    )
    .option('-n, --namespace <name>', 'namespace', 'default')
    .option('--dry-run', 'check the change without storing it')
    .action((words: string[], options: PatchOptions) => patchObjects(words, options));
  withExamples(
    patch,
    [`kedge patch volume data --patch '{"size": "2Gi"}'`, 'Change one field'],
    [`kedge patch service/web --patch 'env: {LEVEL: null}'`, 'Remove one key of a map'],
    ['kedge patch service web --patch @change.yaml --dry-run', 'Check the patch of a file'],
  );
}
