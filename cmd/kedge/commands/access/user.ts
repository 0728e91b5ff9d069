import type { Command } from 'commander';
import { withExamples } from '../../program/examples.js';
import { callAndSay } from '../../connection/api.js';
import { nameOf } from '../../connection/targets.js';

interface UserOptions {
  readonly serviceAccount?: boolean;
  readonly policy?: readonly string[];
  readonly node?: string;
}

/** Adds `kedge user create|attach|detach`. */
export function addUser(program: Command): void {
  const user = program.command('user').description('manage users and service accounts');
  withExamples(
    user
      .command('create')
      .argument('<name>')
      .description('create a user')
      .option('--service-account', 'create a service account, for a program')
      .option(
        '--node <name>',
        'for the agent of a node: restricts the account to objects of that node',
      )
      .option('--policy <name...>', 'policies of the user')
      .action((name: string, { serviceAccount, policy, node }: UserOptions) =>
        callAndSay(
          'AdminService.CreateUser',
          {
            user: {
              name,
              kind: serviceAccount || node ? 'serviceAccount' : 'user',
              policies: policy ?? [],
              node: node ?? '',
            },
          },
          `users/${name} created`,
        ),
      ),
    ['kedge user create ada --policy readonly', 'A user with read access'],
    ['kedge user create backup --service-account --policy admin', 'A program'],
  );
  const verbs = [
    ['attach', 'AttachPolicy', 'attach a policy to a user', 'has'],
    ['detach', 'DetachPolicy', 'detach a policy from a user', 'no longer has'],
  ] as const;
  for (const [verb, method, description, done] of verbs)
    withExamples(
      user
        .command(verb)
        .argument('<name>', 'NAME or user/NAME')
        .argument('<policy>', 'NAME or policy/NAME')
        .description(description)
        .action((word: string, policyWord: string) => {
          const name = nameOf(['User'], word);
          const policy = nameOf(['Policy'], policyWord);
          return callAndSay(
            `AdminService.${method}`,
            { name, policy },
            `users/${name} ${done} policy ${policy}`,
          );
        }),
      [`kedge user ${verb} ada readonly`, `Now ada ${done} policy readonly`],
    );
}
