import type { Command } from 'commander';
import { hasCode, invalid, sleep, StatusError, systemClock } from 'kedge/objects';
import type { ApiClient } from 'kedge/client';
import { type JsonObject, textOf } from 'kedge/rpc';
import { connect, kindNamed, methodFor } from '../../connection/api.js';
import { follow } from '../../connection/follow.js';
import {
  forEachTarget,
  objectsNamedBy,
  scopeOf,
  slashed,
  type Target,
} from '../../connection/targets.js';
import { readCastFiles } from '../../files/cast-file.js';
import { waitSecondsMax, wholeNumber } from '../../program/number-option.js';
import { note, print } from '../../output/output.js';
import { installation } from '../../../installation.js';
import { interruptible } from '../../program/interruption.js';
import { withExamples } from '../../program/examples.js';
import { usageError } from '../../output/usage.js';

interface DeleteOptions {
  readonly filename?: readonly string[];
  readonly ignoreNotFound?: boolean;
  readonly namespace: string;
  readonly cascade?: boolean;
  readonly force?: boolean;
  readonly dryRun?: boolean;
  readonly wait: boolean;
  readonly timeout: number;
}

interface Placed extends Target {
  readonly namespace: string;
}

/**
 * The objects of files in reverse order: later objects may depend on earlier ones.
 * @throws StatusError InvalidArgument for an object without a name
 */
async function objectsInFiles(
  files: readonly string[],
  namespace: string,
): Promise<readonly Placed[]> {
  const items = await readCastFiles(files);
  return items
    .map(({ kind: word, object, locate }): Placed => {
      const kind = kindNamed(word);
      const name = textOf(object, 'name');
      if (name === '') throw invalid([{ field: locate('name'), description: 'is required' }]);
      return { kind, name, namespace: textOf(object, 'namespace') || namespace };
    })
    .reverse();
}

async function remove(words: readonly string[], options: DeleteOptions): Promise<void> {
  const { namespace, filename = [] } = options;
  if ((words.length === 0) === (filename.length === 0))
    throw usageError('use TYPE NAME..., TYPE/NAME..., or --filename FILE');
  const targets =
    filename.length > 0
      ? await objectsInFiles(filename, namespace)
      : objectsNamedBy(words).map((target): Placed => ({ ...target, namespace }));
  const client = await connect();
  try {
    await forEachTarget(targets, (target) => removeOne(client, target, options));
  } finally {
    client.close();
  }
}

async function removeOne(client: ApiClient, target: Placed, options: DeleteOptions): Promise<void> {
  const { kind, name, namespace } = target;
  const scope = scopeOf(kind, namespace);
  const extra = { cascade: options.cascade === true, force: options.force === true };
  const request = { ...scope, ...extra, name, dryRun: options.dryRun === true };
  let answer: JsonObject;
  try {
    answer = await client.call(methodFor(kind, 'Delete'), request);
  } catch (error) {
    if (!options.ignoreNotFound || !hasCode(error, 'NotFound')) throw error;
    print(`${slashed(target)} does not exist`);
    return;
  }
  const metadata = answer.metadata as JsonObject | undefined;
  const finalizing = ((metadata?.finalizers ?? []) as readonly string[]).length > 0;
  if (finalizing && options.wait && !options.dryRun) {
    const goesOn = `the deletion continues; ${describeCommand(target)} shows what it waits for`;
    const uid = textOf(metadata ?? {}, 'uid');
    await interruptible(goesOn, () => {
      note(`${slashed(target)} is being deleted ...`);
      return gone(client, target, uid, options);
    });
  }
  const pending = finalizing && !options.wait ? 'is being deleted' : 'deleted';
  print(`${slashed(target)} ${pending}${options.dryRun ? ' (dry run)' : ''}`);
}

function describeCommand(target: Placed): string {
  const { namespace = '' } = scopeOf(target.kind, target.namespace);
  const where = namespace === '' ? '' : ` -n ${namespace}`;
  return `${installation().kedge} describe ${slashed(target)}${where}`;
}

/** Interval of the reads of an object that can't be watched. */
const pollMs = 1_000;

async function gone(
  client: ApiClient,
  target: Placed,
  uid: string,
  options: DeleteOptions,
): Promise<void> {
  const { kind, name, namespace } = target;
  const scope = scopeOf(kind, namespace);
  const limit = AbortSignal.timeout(options.timeout * 1_000);
  const exists = async (): Promise<boolean> => {
    try {
      const { metadata } = await client.call(methodFor(kind, 'Get'), { ...scope, name });
      // A recreated object of the same name is not awaited.
      return textOf((metadata ?? {}) as JsonObject, 'uid') === uid;
    } catch (error) {
      if (hasCode(error, 'NotFound')) return false;
      throw error;
    }
  };
  const stop = new AbortController();
  const over = AbortSignal.any([limit, stop.signal]);
  const watching = follow(
    client,
    [{ kind, namespace }],
    ({ object, deleted }) => deleted && object.name === name,
    over,
  ).catch(async (error: unknown) => {
    // A caller without the right to list can still read the object.
    if (!hasCode(error, 'PermissionDenied')) throw error;
    while (!over.aborted && (await exists())) await sleep(systemClock, pollMs, over);
  });
  // It is awaited after another call: until then, its error must not end the process as an unhandled one.
  watching.catch(() => undefined);
  try {
    // The object may have been deleted before the watch started.
    if (!(await exists())) stop.abort();
    await watching;
  } finally {
    stop.abort();
  }
  if (limit.aborted && (await exists()))
    throw new StatusError({
      code: 'DeadlineExceeded',
      reason: 'WaitTimeout',
      message: `${kind.plural}/${name} is still being deleted; ${describeCommand(target)} shows what it waits for`,
    });
}

/** Adds `kedge delete TYPE NAME...`. */
export function addDelete(program: Command): void {
  const command = program
    .command('delete')
    .argument('[words...]', 'TYPE NAME... or TYPE/NAME...')
    .description('delete objects and wait for the end of the deletion')
    .option('-n, --namespace <name>', 'namespace', 'default')
    .option('-f, --filename <files...>', 'delete the objects in these files, in reverse order')
    .option('--ignore-not-found', 'ignore objects that do not exist')
    .option('--cascade', 'for a namespace: delete its objects first')
    .option('--force', 'for a storage class: delete it although volumes use it')
    .option('--dry-run', 'check the deletion without executing it')
    .option('--no-wait', 'return once the deletion is stored')
    .option('--timeout <seconds>', 'maximum wait', wholeNumber('--timeout', waitSecondsMax), 120)
    .action((words: string[], options: DeleteOptions) => remove(words, options));
  withExamples(
    command,
    ['kedge delete volume data archive', 'Two volumes'],
    ['kedge delete service/web volume/data', 'A service, then a volume'],
    ['kedge delete -f docs/examples/journal.yaml', 'The objects of a file'],
    ['kedge delete namespace dev --cascade', 'A namespace with its objects'],
  );
}
