import type { Command } from 'commander';
import { withExamples } from '../../program/examples.js';
import { invalid } from 'kedge/objects';
import { textOf } from 'kedge/rpc';
import { callAndSay, connect, listAll } from '../../connection/api.js';
import { nameOf } from '../../connection/targets.js';
import { objectFormats, parseFormat, render } from '../../output/formats.js';
import { note, print } from '../../output/output.js';

const seconds: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 };

function ttlOf(text: string | undefined): number {
  if (text === undefined) return 0;
  const [, count = '', unit = ''] = /^(\d+)([smhd])$/.exec(text) ?? [];
  const found = Number(count) * (seconds[unit] ?? 0);
  if (found > 0) return found;
  throw invalid([
    { field: '--ttl', description: `"${text}" must be a duration such as 30m, 12h or 90d` },
  ]);
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
    const good = until === '' ? '' : `, valid until ${until}`;
    note(`Token ${String(made.name)} for ${subject}${good}; it is shown only once:`);
    print(String(made.token));
  } finally {
    client.close();
  }
}

async function listTokens(output: string): Promise<void> {
  const format = parseFormat(output);
  const { tokens } = await import('kedge/auth');
  const client = await connect();
  try {
    const objects = await listAll(client, tokens, {});
    print(
      await render(tokens, objects, format, { single: false, namespaces: false, now: Date.now() }),
    );
  } finally {
    client.close();
  }
}

async function revokeToken(word: string): Promise<void> {
  const name = nameOf(['Token'], word);
  await callAndSay('AuthService.DeleteToken', { name }, `tokens/${name} revoked`);
}

/** Adds `kedge token create|list|revoke`. */
export function addToken(program: Command): void {
  const token = program.command('token').description('create, list and revoke tokens');
  withExamples(
    token
      .command('create')
      .argument('<user>', 'NAME or user/NAME')
      .description('create a token for a user or service account')
      .option(
        '--ttl <time>',
        'validity: 30m, 12h, 90d; default and maximum: the validity of your own token',
      )
      .option('--description <text>', 'description of the token')
      .action((user: string, options: TokenOptions) =>
        createToken(nameOf(['User'], user), options),
      ),
    ['kedge token create ada --ttl 90d', 'For three months'],
  );
  withExamples(
    token
      .command('list')
      .description('list tokens with their users and expiry times')
      .option('-o, --output <format>', objectFormats, 'table')
      .action((options: { readonly output: string }) => listTokens(options.output)),
    ['kedge token list', 'All tokens'],
  );
  withExamples(
    token
      .command('revoke')
      .argument('<id>', 'the id that "kedge token list" prints: ID or token/ID')
      .description('revoke a token and close all streams that use it')
      .action((id: string) => revokeToken(id)),
    ['kedge token revoke 0123456789abcdef', 'Revoke a token and close its streams'],
  );
}
