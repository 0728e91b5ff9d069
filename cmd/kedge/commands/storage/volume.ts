import type { Command } from 'commander';
import type { JsonObject } from 'kedge/rpc';
import { callAndSay } from '../../connection/api.js';
import { describe } from '../objects/describe.js';

interface VolumeOptions {
  readonly namespace: string;
}

function call(method: string, request: JsonObject, done: string): Promise<void> {
  return callAndSay(method, request, `volumes/${String(request.name)} ${done}`);
}

/** `kedge volume resize|retry-provision|detach|reuse|explain` */
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
  volume
    .command('detach')
    .argument('<name>')
    .description('take a volume from what used it, when its node does not do so')
    .option('-n, --namespace <name>', 'namespace', 'default')
    .option('--force', 'also from a node that does not answer: make sure that it is down')
    .action((name: string, { namespace, force }: VolumeOptions & { readonly force?: boolean }) =>
      call('VolumeService.Detach', { namespace, name, force: force === true }, 'is being detached'),
    );
  volume
    .command('reuse')
    .argument('<name>')
    .description('make a Released volume Available again, with its data')
    .option('-n, --namespace <name>', 'namespace', 'default')
    .action((name: string, { namespace }: VolumeOptions) =>
      call('VolumeService.Reuse', { namespace, name }, 'is available again'),
    );
  volume
    .command('explain')
    .argument('<name>')
    .description('tell why a volume is in its state: the last call, its answer, the next try')
    .option('-n, --namespace <name>', 'namespace', 'default')
    .option('-o, --output <format>', 'table, json or yaml', 'table')
    .action((name: string, options: VolumeOptions & { readonly output: string }) =>
      describe('volume', name, options),
    );
}
