import type { Command } from 'commander';
import { invalid } from 'kedge';
import { isJsonObject, textOf } from 'kedge/rpc';
import { callAndSay, connect, kindNamed } from '../api.js';
import { print, table } from '../output.js';
import { addBackup } from './backup.js';

interface Where {
  readonly namespace: string;
}

async function restart(type: string, name: string, { namespace }: Where): Promise<void> {
  const { kind, plural } = kindNamed(type);
  if (kind !== 'Service' && kind !== 'Instance')
    throw invalid([
      { field: 'TYPE', description: `"${type}" can't be restarted; use service or instance` },
    ]);
  await callAndSay(`${kind}Service.Restart`, { namespace, name }, `${plural}/${name} restarts`);
}

async function health(name: string | undefined, { namespace }: Where): Promise<void> {
  const client = await connect();
  try {
    const answer =
      name === undefined
        ? await client.call('HealthService.List', { namespace })
        : { items: [await client.call('HealthService.Get', { namespace, name })] };
    const items = (Array.isArray(answer.items) ? answer.items : []).filter(isJsonObject);
    const rows = items.map((item) => [
      textOf(item, 'name'),
      textOf(item, 'state'),
      `${Number(item.ready)}/${Number(item.wanted)}`,
      textOf(item, 'message'),
    ]);
    print(table([['NAME', 'HEALTH', 'READY', 'MESSAGE'], ...rows]));
  } finally {
    client.close();
  }
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

async function rotateKeys(): Promise<void> {
  const client = await connect();
  try {
    const done = await client.call('AdminService.RotateKeys', {}, { timeoutMs: 3_600_000 });
    print(`${Number(done.resealed)} objects were sealed anew, with key ${textOf(done, 'keyId')}`);
  } finally {
    client.close();
  }
}

/** `kedge restart`, `kedge health`, `kedge secret reveal`, `kedge admin rotate-keys|backup` */
export function addOperate(program: Command): void {
  program
    .command('restart')
    .argument('<type>', 'service or instance')
    .argument('<name>')
    .description('stop and start workloads; those of a service one after the other')
    .option('-n, --namespace <name>', 'namespace', 'default')
    .action((type: string, name: string, options: Where) => restart(type, name, options));
  program
    .command('health')
    .argument('[name]', 'a service or an instance')
    .description('tell how workloads are')
    .option('-n, --namespace <name>', 'namespace', 'default')
    .action((name: string | undefined, options: Where) => health(name, options));
  program
    .command('secret')
    .description('act on secrets')
    .command('reveal')
    .argument('<name>')
    .argument('[key]')
    .description('show the values of a secret in plaintext')
    .option('-n, --namespace <name>', 'namespace', 'default')
    .action((name: string, key: string | undefined, options: Where) => reveal(name, key, options));
  const admin = program.command('admin').description('act on the installation');
  addBackup(admin);
  admin
    .command('rotate-keys')
    .description('seal every secret value anew under another key-encryption key')
    .action(() => rotateKeys());
}
