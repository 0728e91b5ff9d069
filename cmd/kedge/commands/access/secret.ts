import type { Command } from 'commander';
import { invalid } from 'kedge/objects';
import { isJsonObject } from 'kedge/rpc';
import { connect } from '../../connection/api.js';
import { nameOf } from '../../connection/targets.js';
import { withExamples } from '../../program/examples.js';
import { note, print } from '../../output/output.js';

interface Where {
  readonly namespace: string;
}

async function reveal(word: string, key: string | undefined, { namespace }: Where): Promise<void> {
  const name = nameOf(['Secret'], word);
  const client = await connect();
  try {
    const secret = await client.call('SecretService.Get', { namespace, name, reveal: true });
    const data = (isJsonObject(secret.data) ? secret.data : {}) as Readonly<Record<string, string>>;
    if (key === undefined) {
      if (Object.keys(data).length === 0) note(`secrets/${name} contains no values`);
      for (const [each, value] of Object.entries(data)) print(`${each}: ${value}`);
      return;
    }
    const value = Object.hasOwn(data, key) ? data[key] : undefined;
    if (value === undefined) {
      const keys = Object.keys(data);
      const known =
        keys.length === 0 ? `secrets/${name} contains no values` : `use one of ${keys.join(', ')}`;
      throw invalid([
        {
          field: 'KEY',
          description: `${JSON.stringify(key)} is not a key of the secret; ${known}`,
        },
      ]);
    }
    print(value);
  } finally {
    client.close();
  }
}

/** Adds `kedge secret reveal NAME [KEY]`. */
export function addSecret(program: Command): void {
  const command = program
    .command('secret')
    .description('manage secrets')
    .command('reveal')
    .argument('<name>', 'NAME or secret/NAME')
    .argument('[key]')
    .description('show the values of a secret in plaintext')
    .option('-n, --namespace <name>', 'namespace', 'default')
    .action((name: string, key: string | undefined, options: Where) => reveal(name, key, options));
  withExamples(
    command,
    ['kedge secret reveal login', 'All its values'],
    ['kedge secret reveal secret/login password', 'One of them'],
  );
}
