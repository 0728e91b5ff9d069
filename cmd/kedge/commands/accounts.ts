import type { Command } from 'commander';
import { invalid } from 'kedge';
import { textOf } from 'kedge/rpc';
import { callAndSay, connect } from '../api.js';
import { exitCodes } from '../exit-codes.js';
import { note, print } from '../output.js';

const seconds: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 };

function ttlOf(text: string | undefined): number {
  if (text === undefined) return 0;
  const [, count = '', unit = ''] = /^(\d+)([smhd])$/.exec(text) ?? [];
  const found = Number(count) * (seconds[unit] ?? 0);
  if (found > 0) return found;
  throw invalid([{ field: '--ttl', description: `"${text}" must be such as 30m, 12h or 90d` }]);
}

interface TokenOptions {
  readonly ttl?: string;
  readonly description?: string;
}

async function createToken(subject: string, options: TokenOptions): Promise<void> {
  const token = {
    subject,
    ttlSeconds: ttlOf(options.ttl),
    description: options.description ?? '',
  };
  const client = await connect();
  try {
    const made = await client.call('AuthService.CreateToken', { token });
    const until = textOf(made, 'expiresAt');
    const good = until === '' ? '' : `, good until ${until}`;
    note(`Token ${String(made.name)} for ${subject}${good}; it is told only now:`);
    print(String(made.token));
  } finally {
    client.close();
  }
}

async function canI(verb: string, resource: string, namespace: string): Promise<void> {
  const client = await connect();
  try {
    const answer = await client.call('AuthService.CanI', { verb, resource, namespace });
    print(answer.allowed === true ? 'yes' : 'no');
    if (answer.allowed !== true) process.exitCode = exitCodes.error;
  } finally {
    client.close();
  }
}

/** `kedge token create|revoke` */
export function addToken(program: Command): void {
  const token = program.command('token').description('give and take access');
  token
    .command('create')
    .argument('<user>')
    .description('make a token for a user or service account')
    .option(
      '--ttl <time>',
      'how long it is good: 30m, 12h, 90d; default and limit: as long as your own token',
    )
    .option('--description <text>', 'what it is for')
    .action((user: string, options: TokenOptions) => createToken(user, options));
  token
    .command('revoke')
    .argument('<id>', 'as "kedge get tokens" shows it')
    .description('end a token, and every stream that is open with it')
    .action((id: string) =>
      callAndSay('AuthService.DeleteToken', { name: id }, `tokens/${id} revoked`),
    );
}

interface UserOptions {
  readonly serviceAccount?: boolean;
  readonly policy?: readonly string[];
  readonly node?: string;
}

/** `kedge user create|attach|detach` */
export function addUser(program: Command): void {
  const user = program.command('user').description('people and programs that have access');
  user
    .command('create')
    .argument('<name>')
    .description('make a user')
    .option('--service-account', 'for a program')
    .option('--node <name>', 'for the agent of a node: it reaches only what belongs to that')
    .option('--policy <name...>', 'policies it has')
    .action((name: string, { serviceAccount, policy, node }: UserOptions) =>
      callAndSay(
        'AdminService.CreateUser',
        {
          user: {
            name,
            kind: serviceAccount || node ? 'serviceAccount' : 'user',
            policies: policy ?? [],
            node: node ?? '',
          },
        },
        `users/${name} created`,
      ),
    );
  const verbs = [
    ['attach', 'AttachPolicy', 'give a policy to a user', 'has'],
    ['detach', 'DetachPolicy', 'take a policy from a user', 'no longer has'],
  ] as const;
  for (const [verb, method, description, done] of verbs)
    user
      .command(verb)
      .argument('<name>')
      .argument('<policy>')
      .description(description)
      .action((name: string, policy: string) =>
        callAndSay(
          `AdminService.${method}`,
          { name, policy },
          `users/${name} ${done} policy ${policy}`,
        ),
      );
}

/** `kedge auth can-i VERB RESOURCE` */
export function addAuth(program: Command): void {
  program
    .command('auth')
    .description('ask about access')
    .command('can-i')
    .argument('<verb>', 'get, list, watch, create, update, delete, scale, exec, reveal')
    .argument('<resource>', 'volumes, services, ...')
    .description('tell whether you may do something; exit code 1 when not')
    .option('-n, --namespace <name>', 'namespace', 'default')
    .option('-A, --all-namespaces', 'in all namespaces')
    .action(
      (
        verb: string,
        resource: string,
        options: { readonly namespace: string; readonly allNamespaces?: boolean },
      ) => canI(verb, resource, options.allNamespaces ? '-' : options.namespace),
    );
}
