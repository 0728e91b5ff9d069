import { Command, CommanderError } from 'commander';
import pc from 'picocolors';
import { messageOf, StatusError } from 'kedge';
import { printable } from '../terminal-text.js';
import { installation } from '../installation.js';
import { version } from '../version.js';
import { addAccess } from './commands/access.js';
import { addAuth, addToken, addUser } from './commands/accounts.js';
import { addCast } from './commands/cast.js';
import { addDelete } from './commands/delete.js';
import { addDescribe } from './commands/describe.js';
import { addDriver } from './commands/driver.js';
import { addEvents } from './commands/events.js';
import { addExec } from './commands/exec.js';
import { addGet } from './commands/get.js';
import { addLogs } from './commands/logs.js';
import { addOperate } from './commands/operate.js';
import { addSnapshot, addStorageClass } from './commands/snapshot.js';
import { addVolume } from './commands/volume.js';
import { currentContext } from './context.js';
import { exitCodeOf, exitCodes } from './exit-codes.js';
import { nearNames } from './near-names.js';
import { note, print } from './output.js';

function program(): Command {
  const { kedge, examples } = installation();
  const root = new Command('kedge')
    .description('Kedge: services with durable volumes')
    .exitOverride()
    .version(version, '-V, --version', 'tell the version of this program')
    .showSuggestionAfterError()
    .configureHelp({ sortSubcommands: true })
    .addHelpText('after', `\nExample: ${kedge} cast ${examples}/journal.yaml`);
  addCast(root);
  addGet(root);
  addDescribe(root);
  addDelete(root);
  addLogs(root);
  addVolume(root);
  addSnapshot(root);
  addStorageClass(root);
  addDriver(root);
  addAccess(root);
  addAuth(root);
  addToken(root);
  addUser(root);
  addExec(root);
  addEvents(root);
  addOperate(root);
  root
    .command('version')
    .description('tell the version of this program')
    .action(() => print(version));
  for (const command of root.commands) command.exitOverride();
  return root;
}

async function explain(error: unknown): Promise<void> {
  if (error instanceof StatusError && error.violations.length > 0) {
    for (const { field, description } of error.violations)
      note(`${pc.red('error:')} ${printable(`${field}: ${description}`)}`);
    return;
  }
  note(`${pc.red('error:')} ${printable(messageOf(error))}`);
  const near = error instanceof StatusError ? await nearNames(error) : '';
  if (near !== '') note(printable(near.charAt(0).toUpperCase() + near.slice(1)));
  if (
    error instanceof StatusError &&
    error.code === 'Unavailable' &&
    error.reason === 'Unavailable'
  ) {
    const server = await currentContext().then(
      (context) => context.server,
      () => 'the server',
    );
    note(`Is kedged running at ${server}? Start it with: ${installation().start}`);
  }
}

// Whoever reads may stop reading (head, less): that is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  process.exit(error.code === 'EPIPE' ? exitCodes.ok : exitCodes.error);
});

try {
  await program().parseAsync();
} catch (error) {
  if (error instanceof CommanderError)
    process.exitCode = error.exitCode === 0 ? exitCodes.ok : exitCodes.usage;
  else {
    await explain(error);
    process.exitCode = exitCodeOf(error);
  }
}
