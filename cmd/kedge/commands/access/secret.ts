import type { Command } from 'commander';
import { invalid } from 'kedge';
import { isJsonObject } from 'kedge/rpc';
import { connect } from '../../connection/api.js';
import { print } from '../../output/output.js';

interface Where {
  readonly namespace: string;
}

async function reveal(name: string, key: string | undefined, { namespace }: Where): Promise<void> {
  const client = await connect();
  try {
    const secret = await client.call('SecretService.Get', { namespace, name, reveal: true });
    const data = (isJsonObject(secret.data) ? secret.data : {}) as Readonly<Record<string, string>>;
    if (key === undefined) {
      for (const [each, value] of Object.entries(data)) print(`${each}: ${value}`);
      return;
    }
    const value = data[key];
    if (value === undefined)
      throw invalid([
        { field: 'KEY', description: `"${key}" is none of: ${Object.keys(data).join(', ')}` },
      ]);
    print(value);
  } finally {
    client.close();
  }
}

/** `kedge secret reveal NAME [KEY]` */
export function addSecret(program: Command): void {
  program
    .command('secret')
    .description('act on secrets')
    .command('reveal')
    .argument('<name>')
    .argument('[key]')
    .description('show the values of a secret in plaintext')
    .option('-n, --namespace <name>', 'namespace', 'default')
    .action((name: string, key: string | undefined, options: Where) => reveal(name, key, options));
}
