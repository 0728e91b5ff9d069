import type { Command } from 'commander';
import { invalid } from 'kedge';
import { textOf } from 'kedge/rpc';
import { callAndSay, connect } from '../../connection/api.js';
import { note, print } from '../../output/output.js';

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
