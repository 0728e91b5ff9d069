import type { Command } from 'commander';
import type { JsonObject } from 'kedge/rpc';
import { callAndSay } from '../../connection/api.js';
import { volumes } from '@kedge/controllers/kinds';
import { nameOf } from '../../connection/targets.js';
import { withExamples } from '../../program/examples.js';
import { why } from '../objects/why.js';

interface VolumeOptions {
  readonly namespace: string;
}

function call(method: string, word: string, request: JsonObject, done: string): Promise<void> {
  const name = nameOf(['Volume'], word);
  return callAndSay(method, { ...request, name }, `volumes/${name} ${done}`);
}

/** `kedge volume resize|retry-provision|detach|reuse|explain` */
export function addVolume(program: Command): void {
  const volume = program.command('volume').description('act on volumes');
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
          `is to grow to ${size}; kedge describe volume ${nameOf(['Volume'], name)} -n ${namespace} tells when it has`,
        ),
      ),
    ['kedge volume resize data 20Gi', 'Grow a volume; its data stays'],
  );
  withExamples(
    volume
      .command('retry-provision')
      .argument('<name>', 'NAME or volume/NAME')
      .description('try a Failed volume again now')
      .option('-n, --namespace <name>', 'namespace', 'default')
      .action((name: string, { namespace }: VolumeOptions) =>
        call('VolumeService.RetryProvision', name, { namespace }, 'is tried again'),
      ),
    ['kedge volume retry-provision data', 'Try a Failed volume again'],
  );
  withExamples(
    volume
      .command('detach')
      .argument('<name>', 'NAME or volume/NAME')
      .description('take a volume from what used it, when its node does not do so')
      .option('-n, --namespace <name>', 'namespace', 'default')
      .option('--force', 'also from a node that does not answer: make sure that it is down')
      .action((name: string, { namespace, force }: VolumeOptions & { readonly force?: boolean }) =>
        call(
          'VolumeService.Detach',
          name,
          { namespace, force: force === true },
          'is being detached',
        ),
      ),
    ['kedge volume detach data', 'Take it from an instance that is gone'],
    ['kedge volume detach volume/data --force', 'Its node is certainly down'],
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
    ['kedge volume reuse data', 'Make a Released volume available again'],
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
    ['kedge volume explain data', 'The last call of the driver, its answer, the next try'],
  );
}
