import type { Command } from 'commander';
import { type AnyKind, hasCode, StatusError } from 'kedge/objects';
import type { ApiClient } from 'kedge/client';
import type { JsonObject } from 'kedge/rpc';
import { allKinds } from '@kedge/controllers/kinds';
import { emptyWorld, type World, worldOfNamespace } from '@kedge/controllers/cause';
import { connect, listAll, methodFor } from '../../connection/api.js';
import { apiReader } from '../../connection/api-reader.js';
import { follow } from '../../connection/follow.js';
import { noteStaleStates } from '../../connection/store-state.js';
import { forEachTarget, namedBy, scopeOf, type Target } from '../../connection/targets.js';
import {
  type Format,
  type Group,
  objectFormats,
  parseFormat,
  render,
  renderGroups,
} from '../../output/formats.js';
import { GrowingTable } from '../../output/growing-table.js';
import { note, objectRows, print, type TableOptions } from '../../output/output.js';
import { causeIn } from '../../output/subjects.js';
import { withExamples } from '../../program/examples.js';
import { exitCodes } from '../../program/exit-codes.js';
import { usageError } from '../../output/usage.js';
import { requireNamespace } from './require-namespace.js';

interface GetOptions {
  readonly namespace: string;
  readonly allNamespaces?: boolean;
  readonly output: string;
  readonly selector?: string;
  readonly watch?: boolean;
}

/** The namespace to read, `-` for all. */
function placeOf({ allNamespaces, namespace }: GetOptions): string {
  return allNamespaces ? '-' : namespace;
}

function isTable(format: Format): format is 'table' | 'wide' {
  return format === 'table' || format === 'wide';
}

async function watchObjects(
  client: ApiClient,
  kind: AnyKind,
  names: ReadonlySet<string>,
  options: GetOptions,
): Promise<void> {
  const format = parseFormat(options.output);
  const interrupted = new AbortController();
  process.once('SIGINT', () => interrupted.abort());
  const namespaces = options.allNamespaces === true;
  let shown: GrowingTable | undefined;
  let noted: Promise<void> | undefined;
  const target = {
    kind,
    namespace: placeOf(options),
    ...(options.selector === undefined ? {} : { labelSelector: options.selector }),
  };
  await follow(
    client,
    [target],
    async ({ object, deleted }) => {
      if (names.size > 0 && !names.has(String(object.name))) return false;
      // With the first object, so that a server that does not answer is not waited for twice.
      await (noted ??= noteStaleStates(interrupted.signal));
      const now = Date.now();
      if (!isTable(format)) {
        // Separates the documents of the YAML output.
        if (format === 'yaml') print('---');
        print(await render(kind, [object], format, { single: true, namespaces, now }));
        return false;
      }
      const wide = format === 'wide';
      const rows = objectRows(kind, [object], {
        wide,
        namespaces,
        now,
        causeOf: causesIn(emptyWorld),
      });
      const [header = [], row = []] = rows;
      shown ??= new GrowingTable(header);
      shown.add(deleted ? [...row.slice(0, -1), 'deleted'] : row);
      return false;
    },
    interrupted.signal,
  );
}

/** Lists the objects of some kinds. With `all`, kinds that the caller may not list are noted and skipped. */
async function listed(
  client: ApiClient,
  kinds: readonly AnyKind[],
  options: GetOptions,
  all: boolean,
): Promise<readonly Group[]> {
  const groups: Group[] = [];
  for (const kind of kinds)
    try {
      const request = scopeOf(kind, placeOf(options));
      const labelSelector = options.selector ?? '';
      const objects = await listAll(client, kind, { ...request, labelSelector });
      groups.push({ kind, objects });
    } catch (error) {
      if (!all || !hasCode(error, 'PermissionDenied')) throw error;
      note(`Without ${kind.plural}: you are not permitted to list them.`);
      process.exitCode = exitCodes.auth;
    }
  return groups;
}

async function requireNamespaceIfEmpty(
  client: ApiClient,
  groups: readonly Group[],
  options: GetOptions,
): Promise<void> {
  const empty = groups.every(({ objects }) => objects.length === 0);
  const namespaced = groups.some(({ kind }) => kind.scope === 'Namespaced');
  if (empty && namespaced && !options.allNamespaces)
    await requireNamespace(client, options.namespace);
}

type CauseColumn = NonNullable<TableOptions['causeOf']>;

function causesIn(world: World): CauseColumn {
  return (kind, object) => causeIn(world, kind, object);
}

/**
 * Returns the content of the column with causes; undefined, which omits the column, if no object has a problem. The
 * dependencies of all objects are read once.
 */
async function causesOf(
  client: ApiClient,
  groups: readonly Group[],
  format: Format,
  options: GetOptions,
): Promise<CauseColumn | undefined> {
  const own = causesIn(emptyWorld);
  const troubled = groups.some(({ kind, objects }) => objects.some((o) => own(kind, o)));
  if (!troubled || !isTable(format)) return undefined;
  return causesIn(await worldOfNamespace(apiReader(client), placeOf(options)));
}

async function show(
  client: ApiClient,
  groups: readonly Group[],
  what: string,
  options: GetOptions,
): Promise<void> {
  const format = parseFormat(options.output);
  await requireNamespaceIfEmpty(client, groups, options);
  const some = groups.filter(({ objects }) => objects.length > 0);
  const [only, ...others] = groups;
  const namespaces = options.allNamespaces === true;
  const causeOf = await causesOf(client, some, format, options);
  const shown = { single: false, namespaces, now: Date.now(), ...(causeOf ? { causeOf } : {}) };
  if (some.length === 0 && format !== 'json' && format !== 'yaml') {
    const cluster = groups.every(({ kind }) => kind.scope === 'Cluster');
    const where = cluster || options.allNamespaces ? '' : ` in namespace ${options.namespace}`;
    note(`No ${what} found${where}.`);
    return;
  }
  // A single requested kind is printed as a list of that kind, also when it is empty.
  const list = only && others.length === 0 ? groups : some;
  print(await renderGroups(list, format, shown));
}

/** The objects with a name: one, or one in each namespace that has it. @throws StatusError NotFound */
async function objectsOf(
  client: ApiClient,
  { kind, name }: Target,
  options: GetOptions,
): Promise<readonly JsonObject[]> {
  if (!options.allNamespaces || kind.scope === 'Cluster')
    return [
      await client.call(methodFor(kind, 'Get'), { ...scopeOf(kind, placeOf(options)), name }),
    ];
  const found = await listAll(client, kind, { namespace: '-', fieldSelector: `name=${name}` });
  if (found.length > 0) return found;
  throw new StatusError({
    code: 'NotFound',
    reason: 'NotFound',
    message: `${kind.kind} ${JSON.stringify(name)} does not exist in any namespace`,
    resource: { kind: kind.kind, namespace: '-', name },
  });
}

async function getNamed(
  client: ApiClient,
  targets: readonly Target[],
  options: GetOptions,
): Promise<void> {
  const format = parseFormat(options.output);
  const found: { readonly kind: AnyKind; readonly objects: JsonObject[] }[] = [];
  const all = forEachTarget(targets, async (target) => {
    const objects = await objectsOf(client, target, options);
    const group = found.find(({ kind }) => kind === target.kind);
    if (group) group.objects.push(...objects);
    else found.push({ kind: target.kind, objects: [...objects] });
  });
  const failed = await all.then(
    () => undefined,
    (error: unknown) => ({ error }),
  );
  const single = targets.length === 1 && found[0]?.objects.length === 1;
  const namespaces = options.allNamespaces === true;
  const causeOf = await causesOf(client, found, format, options);
  const shown = { single, namespaces, now: Date.now(), ...(causeOf ? { causeOf } : {}) };
  if (found.length > 0) print(await renderGroups(found, format, shown));
  if (failed) throw failed.error;
}

async function get(words: readonly string[], options: GetOptions): Promise<void> {
  parseFormat(options.output);
  const all = words.length === 1 && words[0] === 'all';
  const { kinds, objects } = all
    ? { kinds: allKinds.filter(isContent), objects: [] }
    : namedBy(words);
  if (objects.length > 0 && options.selector !== undefined)
    throw usageError('use either names or a selector, not both');
  const client = await connect();
  try {
    if (options.watch) {
      const watched = [...new Set([...kinds, ...objects.map(({ kind }) => kind)])];
      const [kind] = watched;
      if (!kind || watched.length > 1) throw usageError('watch one type at a time');
      await watchObjects(client, kind, new Set(objects.map(({ name }) => name)), options);
    } else if (objects.length > 0) await getNamed(client, objects, options);
    else {
      const what = all ? 'objects' : kinds.map(({ plural }) => plural).join(' or ');
      await show(client, await listed(client, kinds, options, all), what, options);
    }
    if (!options.watch) await noteStaleStates();
  } finally {
    client.close();
  }
}

/** Whether `all` includes a kind: namespaced kinds except events. */
function isContent({ kind, scope }: AnyKind): boolean {
  return scope === 'Namespaced' && kind !== 'Event';
}

/** Adds `kedge get TYPE [NAME...]`. */
export function addGet(program: Command): void {
  const command = program
    .command('get')
    .argument(
      '<words...>',
      'TYPE, TYPE,TYPE, TYPE NAME..., TYPE/NAME..., or all: all objects of a namespace except events',
    )
    .description('show objects')
    .option('-n, --namespace <name>', 'namespace', 'default')
    .option('-A, --all-namespaces', 'objects of all namespaces')
    .option('-o, --output <format>', objectFormats, 'table')
    .option('-l, --selector <labels>', 'only objects with these labels: a=b,c!=d')
    .option('-w, --watch', 'continue with changes')
    .action((words: string[], options: GetOptions) => get(words, options));
  withExamples(
    command,
    ['kedge get volumes', 'All volumes of namespace default'],
    ['kedge get volume/data service/web -o yaml', 'Two objects, in a form that can be cast'],
    ['kedge get all -A', 'All objects of all namespaces'],
    [
      `kedge get volumes -o jsonpath='{range .items[*]}{.name} {.status}{"\\n"}{end}'`,
      'Selected fields, one line per object',
    ],
    ['kedge get instances -l app=web --watch', 'Changes, until Ctrl-C'],
  );
}
