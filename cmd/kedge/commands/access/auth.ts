import { Argument, type Command } from 'commander';
import { invalid } from 'kedge/objects';
import type { ApiClient } from 'kedge/client';
import { allKinds } from '@kedge/controllers/kinds';
import { nearest } from '../../../near-miss.js';
import { connect } from '../../connection/api.js';
import { note, print, table } from '../../output/output.js';
import { withExamples } from '../../program/examples.js';
import { exitCodes } from '../../program/exit-codes.js';
import { usageError } from '../../output/usage.js';

interface CanIOptions {
  readonly namespace: string;
  readonly allNamespaces?: boolean;
  readonly list?: boolean;
}

const verbs = [
  ...['get', 'list', 'watch', 'create', 'update', 'delete'],
  ...['scale', 'exec', 'reveal', 'elevate', 'load', 'prune', 'serve'],
] as const;

/** Resources of rights that are not kinds. */
const furtherResources = [
  ...['exec', 'logs', 'health', 'images', 'backups', 'keys'],
  ...['driverchecks', 'orphans', 'imports', 'storageroots', 'noderequests'],
  // Of programs that use the store as controllers do.
  ...['leases', 'reconcilerecords', 'effectrecords'],
];
const resources = [...allKinds.map(({ plural }) => plural), ...furtherResources].sort();

/** Maximum number of concurrent requests. */
const atOnce = 16;

/**
 * Rejects a verb or a resource that does not exist: the answer "no" would look like a missing right.
 * @throws StatusError InvalidArgument with a suggestion
 */
function requireKnownAccess(verb: string, resource: string): void {
  if (verb !== '*' && !verbs.some((known) => known === verb)) {
    const meant = nearest(verb, verbs);
    const hint = meant === undefined ? `use one of ${verbs.join(', ')}` : `did you mean ${meant}?`;
    throw invalid([
      { field: 'VERB', description: `${JSON.stringify(verb)} is not a verb; ${hint}` },
    ]);
  }
  const [plural = ''] = resource.split('/');
  if (plural === '*' || resources.includes(plural)) return;
  const meant = nearest(plural, resources);
  const hint =
    meant === undefined ? `use one of ${resources.join(', ')}` : `did you mean ${meant}?`;
  throw invalid([
    { field: 'RESOURCE', description: `${JSON.stringify(plural)} is not a resource; ${hint}` },
  ]);
}

async function may(
  client: ApiClient,
  verb: string,
  resource: string,
  namespace: string,
): Promise<boolean> {
  const answer = await client.call('AuthService.CanI', { verb, resource, namespace });
  return answer.allowed === true;
}

async function canI(verb: string, resource: string, namespace: string): Promise<void> {
  requireKnownAccess(verb, resource);
  const client = await connect();
  try {
    const allowed = await may(client, verb, resource, namespace);
    print(allowed ? 'yes' : 'no');
    if (!allowed) process.exitCode = exitCodes.error;
  } finally {
    client.close();
  }
}

async function listRights(namespace: string): Promise<void> {
  const client = await connect();
  try {
    const questions = resources.flatMap((resource) => verbs.map((verb) => ({ resource, verb })));
    const allowed = new Map<string, string[]>();
    for (let at = 0; at < questions.length; at += atOnce) {
      const asked = questions.slice(at, at + atOnce);
      const answers = await Promise.all(
        asked.map(({ resource, verb }) => may(client, verb, resource, namespace)),
      );
      for (const [index, { resource, verb }] of asked.entries())
        if (answers[index]) allowed.set(resource, [...(allowed.get(resource) ?? []), verb]);
    }
    const where = namespace === '-' ? 'in all namespaces' : `in namespace ${namespace}`;
    if (allowed.size === 0) note(`You have no rights ${where}.`);
    else
      print(
        table([
          ['RESOURCE', 'VERBS'],
          ...[...allowed].map(([resource, may]) => [resource, may.join(' ')]),
        ]),
      );
  } finally {
    client.close();
  }
}

async function ask(
  verb: string | undefined,
  resource: string | undefined,
  options: CanIOptions,
): Promise<void> {
  const namespace = options.allNamespaces ? '-' : options.namespace;
  if (options.list) {
    if (verb !== undefined) throw usageError('use either VERB RESOURCE or --list, not both');
    await listRights(namespace);
  } else if (verb === undefined || resource === undefined)
    throw usageError('use VERB RESOURCE, such as get volumes, or --list');
  else await canI(verb, resource, namespace);
}

/**
 * Declares an argument with completion by `words`. The command itself validates the argument later, with suggestions.
 */
function known(name: string, about: string, words: readonly string[]): Argument {
  const argument = new Argument(name, about);
  argument.argChoices = [...words];
  return argument;
}

/** Adds `kedge auth can-i VERB RESOURCE`. */
export function addAuth(program: Command): void {
  const command = program
    .command('auth')
    .description('query access rights')
    .command('can-i')
    .addArgument(known('[verb]', 'such as get', verbs))
    .addArgument(known('[resource]', 'such as volumes', resources))
    .description('print whether you have a right; exit code 1 if not')
    .option('-n, --namespace <name>', 'namespace', 'default')
    .option('-A, --all-namespaces', 'ask for a right that applies to all namespaces')
    .option('--list', 'print your rights in the namespace, or those that apply to all namespaces')
    .action((verb: string | undefined, resource: string | undefined, options: CanIOptions) =>
      ask(verb, resource, options),
    );
  withExamples(
    command,
    ['kedge auth can-i delete volumes -n prod', 'One right'],
    ['kedge auth can-i --list', 'All rights in a namespace'],
  );
}
