import type { Command } from 'commander';
import { type AnyKind, hasCode } from 'kedge';
import type { ApiClient } from 'kedge/client';
import type { JsonObject } from 'kedge/rpc';
import { namespaces as namespaceKind } from '@kedge/controllers/kinds';
import { connect, kindNamed, listAll, methodFor } from '../../connection/api.js';
import { follow } from '../../connection/follow.js';
import { note, objectRows, parseFormat, print, render, table } from '../../output/output.js';

interface GetOptions {
  readonly namespace: string;
  readonly allNamespaces?: boolean;
  readonly output: string;
  readonly selector?: string;
  readonly watch?: boolean;
}

function scopeOf(kind: AnyKind, options: GetOptions): JsonObject {
  if (kind.scope === 'Cluster') return {};
  return { namespace: options.allNamespaces ? '-' : options.namespace };
}

async function watchObjects(
  client: ApiClient,
  kind: AnyKind,
  name: string | undefined,
  options: GetOptions,
): Promise<void> {
  const format = parseFormat(options.output);
  const interrupted = new AbortController();
  process.once('SIGINT', () => interrupted.abort());
  const namespaces = options.allNamespaces === true;
  let widths: readonly (readonly string[])[] = [];
  const target = {
    kind,
    namespace: namespaces ? '-' : options.namespace,
    ...(options.selector === undefined ? {} : { labelSelector: options.selector }),
  };
  await follow(
    client,
    [target],
    ({ object, deleted }) => {
      if (name !== undefined && object.name !== name) return false;
      const now = Date.now();
      if (format !== 'table' && format !== 'wide') {
        // Documents of one stream.
        if (format === 'yaml') print('---');
        print(render(kind, [object], format, { single: true, namespaces, now }));
        return false;
      }
      const rows = objectRows(kind, [object], { wide: format === 'wide', namespaces, now });
      const [header = [], row = []] = rows;
      const shown = deleted ? [...row.slice(0, -1), 'deleted'] : row;
      const first = widths.length === 0;
      widths = [...widths.slice(-50), shown];
      const lines = table([header, ...widths]).split('\n');
      if (first) print(lines[0] ?? '');
      print(lines.at(-1) ?? '');
      return false;
    },
    interrupted.signal,
  );
}

/** A namespace that does not exist holds nothing, which is not what was asked. @throws StatusError NotFound */
async function demandNamespace(client: ApiClient, name: string): Promise<void> {
  try {
    await client.call(methodFor(namespaceKind, 'Get'), { name });
  } catch (error) {
    if (hasCode(error, 'NotFound')) throw error;
    // Who may not see namespaces is told what was found in this one.
  }
}

async function get(type: string, name: string | undefined, options: GetOptions): Promise<void> {
  const kind = kindNamed(type);
  const format = parseFormat(options.output);
  const client = await connect();
  try {
    if (options.watch) {
      await watchObjects(client, kind, name, options);
      return;
    }
    const scope = scopeOf(kind, options);
    const objects =
      name === undefined
        ? await listAll(client, kind, { ...scope, labelSelector: options.selector ?? '' })
        : [await client.call(methodFor(kind, 'Get'), { ...scope, name })];
    if (objects.length === 0 && kind.scope === 'Namespaced' && !options.allNamespaces)
      await demandNamespace(client, options.namespace);
    if (objects.length === 0 && (format === 'table' || format === 'wide')) {
      const where =
        kind.scope === 'Cluster' || options.allNamespaces
          ? ''
          : ` in namespace ${options.namespace}`;
      note(`No ${kind.plural} found${where}.`);
      return;
    }
    const namespaces = options.allNamespaces === true;
    print(
      render(kind, objects, format, { single: name !== undefined, namespaces, now: Date.now() }),
    );
  } finally {
    client.close();
  }
}

/** `kedge get TYPE [NAME]` */
export function addGet(program: Command): void {
  program
    .command('get')
    .argument('<type>', 'volumes, services, instances, ...')
    .argument('[name]')
    .description('show objects')
    .option('-n, --namespace <name>', 'namespace', 'default')
    .option('-A, --all-namespaces', 'objects of all namespaces')
    .option('-o, --output <format>', 'table, wide, json, yaml or name', 'table')
    .option('-l, --selector <labels>', 'only objects with these labels: a=b,c!=d')
    .option('-w, --watch', 'go on showing changes')
    .action((type: string, name: string | undefined, options: GetOptions) =>
      get(type, name, options),
    );
}
