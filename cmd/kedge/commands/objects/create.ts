import type { Command } from 'commander';
import { bodyField } from 'kedge/rpc';
import { configmaps, namespaces, secrets } from '@kedge/controllers/kinds';
import type { AnyKind } from 'kedge';
import { connect, methodFor } from '../../connection/api.js';
import { nameOf, scopeOf, slashed } from '../../connection/targets.js';
import { type ValueOptions, valuesOf } from '../../files/values.js';
import { note, print } from '../../output/output.js';
import { withExamples } from '../../program/examples.js';

interface CreateOptions extends ValueOptions {
  readonly namespace: string;
  readonly dryRun?: boolean;
}

async function create(
  kind: AnyKind,
  word: string,
  fields: object,
  { namespace, dryRun = false }: Pick<CreateOptions, 'namespace' | 'dryRun'>,
): Promise<void> {
  const name = nameOf([kind.kind], word);
  const client = await connect();
  try {
    await client.call(methodFor(kind, 'Create'), {
      ...scopeOf(kind, namespace),
      [bodyField(kind)]: { name, ...fields },
      dryRun,
    });
    print(`${slashed({ kind, name })} created${dryRun ? ' (dry run)' : ''}`);
  } finally {
    client.close();
  }
}

async function createWithValues(
  kind: AnyKind,
  word: string,
  options: CreateOptions,
): Promise<void> {
  const data = await valuesOf(options);
  if (Object.keys(data).length === 0)
    note(`The object has no values. See --from-file, --from-env-file, --from-literal.`);
  else if (kind.kind === 'Secret' && options.fromLiteral)
    note(
      'Values of --from-literal are visible in the process list and stay in the history of your shell; --from-file KEY=- reads a value from standard input.',
    );
  await create(kind, word, { data }, options);
}

/**
 * Collects the values of a repeatable option, which takes one value each time, so that it does not consume the name of
 * the object.
 */
function more(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, text];
}

/** Adds `kedge create namespace|secret|configmap NAME`. */
export function addCreate(program: Command): void {
  const command = program.command('create').description('create objects without a file');
  withExamples(
    command
      .command('namespace')
      .argument('<name>')
      .description('create a namespace')
      .option('--dry-run', 'check the object without storing it')
      .action((name: string, options: { readonly dryRun?: boolean }) =>
        create(namespaces, name, {}, { namespace: '', ...options }),
      ),
    ['kedge create namespace dev', 'A namespace'],
  );
  for (const [kind, article] of [
    [secrets as unknown as AnyKind, 'a secret'],
    [configmaps as unknown as AnyKind, 'a configmap'],
  ] as const) {
    const word = kind.kind.toLowerCase();
    const made = command
      .command(word)
      .argument('<name>')
      .description(`create ${article} with values from files, standard input or the command line`)
      .option(
        '--from-file <key=file>',
        'the content of a file as a value; KEY=- reads standard input; the default key is the name of the file; may be repeated',
        more,
      )
      .option(
        '--from-env-file <file>',
        'values of a file with lines KEY=VALUE; may be repeated',
        more,
      )
      .option(
        '--from-literal <key=value>',
        kind.kind === 'Secret'
          ? 'a literal value: visible in the process list and in the history of the shell'
          : 'a literal value; may be repeated',
        more,
      )
      .option('-n, --namespace <name>', 'namespace', 'default')
      .option('--dry-run', 'check the object without storing it')
      .action((name: string, options: CreateOptions) => createWithValues(kind, name, options));
    if (kind.kind === 'Secret')
      withExamples(
        made,
        [`printf %s "$PASSWORD" | kedge create secret login --from-file password=-`, 'From a pipe'],
        ['kedge create secret keys --from-file tls.key --from-file tls.crt', 'From files'],
      );
    else
      withExamples(
        made,
        ['kedge create configmap settings --from-literal level=debug', 'One value'],
        ['kedge create configmap web --from-env-file web.env', 'All lines KEY=VALUE of a file'],
      );
  }
}
