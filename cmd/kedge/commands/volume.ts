import type { Command } from 'commander';
import { connect } from '../api.js';
import { print } from '../output.js';

interface VolumeOptions {
  readonly namespace: string;
}

async function call(
  method: string,
  request: Readonly<Record<string, unknown>>,
  done: string,
): Promise<void> {
  const client = await connect();
  try {
    await client.call(method, request);
    print(`volumes/${String(request.name)} ${done}`);
  } finally {
    client.close();
  }
}

/** `kedge volume resize|retry-provision` */
export function addVolume(program: Command): void {
  const volume = program.command('volume').description('act on volumes');
  volume
    .command('resize')
    .argument('<name>')
    .argument('<size>', 'such as 20Gi')
    .description('grow a volume')
    .option('-n, --namespace <name>', 'namespace', 'default')
    .action((name: string, size: string, { namespace }: VolumeOptions) =>
      call('VolumeService.Resize', { namespace, name, size }, `resized to ${size}`),
    );
  volume
    .command('retry-provision')
    .argument('<name>')
    .description('try a Failed volume again now')
    .option('-n, --namespace <name>', 'namespace', 'default')
    .action((name: string, { namespace }: VolumeOptions) =>
      call('VolumeService.RetryProvision', { namespace, name }, 'is tried again'),
    );
}
