import type { Command } from 'commander';
import type { JsonObject } from 'kedge/rpc';
import { callAndSay } from '../../connection/api.js';
import { volumes } from '@kedge/controllers/kinds';
import { nameOf } from '../../connection/targets.js';
import { withExamples } from '../../program/examples.js';
import { addImport } from './volume-import.js';
import { why } from '../objects/why.js';

interface VolumeOptions {
  readonly namespace: string;
}

function call(method: string, word: string, request: JsonObject, done: string): Promise<void> {
  const name = nameOf(['Volume'], word);
  return callAndSay(method, { ...request, name }, `volumes/${name} ${done}`);
}

/** `kedge volume import|resize|retry-provision|detach|reuse|explain` */
export function addVolume(program: Command): void {
  const volume = program.command('volume').description('manage volumes');
  addImport(volume);
  withExamples(
    volume
      .command('resize')
      .argument('<name>', 'NAME or volume/NAME')
      .argument('<size>', 'such as 20Gi')
      .description('grow a volume')
      .option('-n, --namespace <name>', 'namespace', 'default')
      .action((name: string, size: string, { namespace }: VolumeOptions) =>
        call(
          'VolumeService.Resize',
          name,
          { namespace, size },
          `is being resized to ${size}; kedge describe volume ${nameOf(['Volume'], name)} -n ${namespace} shows the progress`,
        ),
      ),
    ['kedge volume resize data 20Gi', 'Grow a volume; its data is kept'],
  );
  withExamples(
    volume
      .command('retry-provision')
      .argument('<name>', 'NAME or volume/NAME')
      .description('retry a Failed volume now')
      .option('-n, --namespace <name>', 'namespace', 'default')
      .action((name: string, { namespace }: VolumeOptions) =>
        call('VolumeService.RetryProvision', name, { namespace }, 'is being retried'),
      ),
    ['kedge volume retry-provision data', 'Retry a Failed volume'],
  );
  withExamples(
    volume
      .command('detach')
      .argument('<name>', 'NAME or volume/NAME')
      .description(
        'detach a volume from a deleted instance, or with --force from a node that is down',
      )
      .option('-n, --namespace <name>', 'namespace', 'default')
      .option('--force', 'also from a node that is not Ready: make sure that it is down')
      .action((name: string, { namespace, force }: VolumeOptions & { readonly force?: boolean }) =>
        call(
          'VolumeService.Detach',
          name,
          { namespace, force: force === true },
          'is being detached',
        ),
      ),
    ['kedge volume detach data', 'Detach a volume from a deleted instance'],
    ['kedge volume detach volume/data --force', 'Detach a volume from a node that is down'],
  );
  withExamples(
    volume
      .command('reuse')
      .argument('<name>', 'NAME or volume/NAME')
      .description('make a Released volume Available again, with its data')
      .option('-n, --namespace <name>', 'namespace', 'default')
      .action((name: string, { namespace }: VolumeOptions) =>
        call('VolumeService.Reuse', name, { namespace }, 'is available again'),
      ),
    ['kedge volume reuse data', 'Make a Released volume Available again'],
  );
  withExamples(
    volume
      .command('explain')
      .argument('<name>', 'NAME or volume/NAME')
      .description('the same as kedge why volume/NAME')
      .option('-n, --namespace <name>', 'namespace', 'default')
      .option('-o, --output <format>', 'table, json or yaml', 'table')
      .action((name: string, options: VolumeOptions & { readonly output: string }) =>
        why([{ kind: volumes, name: nameOf(['Volume'], name) }], options),
      ),
    [
      'kedge volume explain data',
      'The last driver call, its result, and the time of the next retry',
    ],
  );
}
