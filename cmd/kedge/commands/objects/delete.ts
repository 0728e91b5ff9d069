import type { Command } from 'commander';
import { hasCode, StatusError } from 'kedge';
import { type JsonObject, textOf } from 'kedge/rpc';
import { connect, kindNamed, methodFor } from '../../connection/api.js';
import { follow } from '../../connection/follow.js';
import { waitSecondsMax, wholeNumber } from '../../program/number-option.js';
import { note, print } from '../../output/output.js';

interface DeleteOptions {
  readonly namespace: string;
  readonly cascade?: boolean;
  readonly force?: boolean;
  readonly dryRun?: boolean;
  readonly wait: boolean;
  readonly timeout: number;
}

async function remove(
  type: string,
  names: readonly string[],
  options: DeleteOptions,
): Promise<void> {
  const kind = kindNamed(type);
  const scope: JsonObject = kind.scope === 'Cluster' ? {} : { namespace: options.namespace };
  const client = await connect();
  try {
    for (const name of names) {
      const extra = { cascade: options.cascade === true, force: options.force === true };
      const request = { ...scope, ...extra, name, dryRun: options.dryRun === true };
      const answer = await client.call(methodFor(kind, 'Delete'), request);
      const metadata = answer.metadata as JsonObject | undefined;
      const finalizing = ((metadata?.finalizers ?? []) as readonly string[]).length > 0;
      if (finalizing && options.wait && !options.dryRun) {
        note(`${kind.plural}/${name} is being deleted ...`);
        await gone(client, type, { name, uid: textOf(metadata ?? {}, 'uid') }, scope, options);
      }
      const pending = finalizing && !options.wait ? 'is being deleted' : 'deleted';
      print(`${kind.plural}/${name} ${pending}${options.dryRun ? ' (dry run)' : ''}`);
    }
  } finally {
    client.close();
  }
}

async function gone(
  client: Awaited<ReturnType<typeof connect>>,
  type: string,
  { name, uid }: { readonly name: string; readonly uid: string },
  scope: JsonObject,
  options: DeleteOptions,
): Promise<void> {
  const kind = kindNamed(type);
  const limit = AbortSignal.timeout(options.timeout * 1_000);
  const exists = async (): Promise<boolean> => {
    try {
      const { metadata } = await client.call(methodFor(kind, 'Get'), { ...scope, name });
      // Another one of its name, created meanwhile, is not waited for.
      return textOf((metadata ?? {}) as JsonObject, 'uid') === uid;
    } catch (error) {
      if (hasCode(error, 'NotFound')) return false;
      throw error;
    }
  };
  const stop = new AbortController();
  const watching = follow(
    client,
    [{ kind, namespace: options.namespace }],
    ({ object, deleted }) => deleted && object.name === name,
    AbortSignal.any([limit, stop.signal]),
  );
  // Gone already, before the watch began?
  if (!(await exists())) stop.abort();
  await watching;
  if (limit.aborted && (await exists()))
    throw new StatusError({
      code: 'DeadlineExceeded',
      reason: 'WaitTimeout',
      message: `${kind.plural}/${name} is still being deleted; kedge describe tells what it waits for`,
    });
}

/** `kedge delete TYPE NAME...` */
export function addDelete(program: Command): void {
  program
    .command('delete')
    .argument('<type>')
    .argument('<names...>')
    .description('delete objects and wait until they are gone')
    .option('-n, --namespace <name>', 'namespace', 'default')
    .option('--cascade', 'of a namespace: delete its content first')
    .option('--force', 'of a storage class: although volumes use it')
    .option('--dry-run', 'judge it, delete nothing')
    .option('--no-wait', 'return once the deletion is stored')
    .option('--timeout <seconds>', 'longest wait', wholeNumber('--timeout', waitSecondsMax), 120)
    .action((type: string, names: string[], options: DeleteOptions) =>
      remove(type, names, options),
    );
}
