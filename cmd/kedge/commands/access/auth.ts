import type { Command } from 'commander';
import { connect } from '../../connection/api.js';
import { print } from '../../output/output.js';
import { exitCodes } from '../../program/exit-codes.js';

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
