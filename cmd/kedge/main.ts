import { CommanderError } from 'commander';
import pc from 'picocolors';
import { messageOf, StatusError } from 'kedge/objects';
import { installation } from '../installation.js';
import { printable } from '../terminal-text.js';
import { adviceOn } from './connection/advice.js';
import { causeIn } from './connection/connection-faults.js';
import { calledServer, usedGivenToken } from './connection/api.js';
import { nearNames } from './connection/near-names.js';
import { note } from './output/output.js';
import { exitCodeOf, exitCodes } from './program/exit-codes.js';
import { kedgeProgram } from './program/program.js';

async function explain(error: unknown): Promise<void> {
  if (error instanceof AggregateError) {
    for (const each of error.errors) await explain(each);
    return;
  }
  if (error instanceof StatusError && error.violations.length > 0) {
    for (const { field, description } of error.violations)
      note(`${pc.red('error:')} ${printable(`${field}: ${description}`)}`);
    return;
  }
  note(`${pc.red('error:')} ${printable(causeIn(messageOf(error)))}`);
  const near = error instanceof StatusError ? await nearNames(error) : '';
  if (near !== '') note(printable(near.charAt(0).toUpperCase() + near.slice(1)));
  if (!(error instanceof StatusError)) return;
  const advice = adviceOn(error, {
    server: calledServer(),
    installation: installation(),
    isTokenGiven: usedGivenToken(),
  });
  if (advice !== undefined) note(printable(advice));
}

// A closed pipe (head, less) is not an error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  process.exit(error.code === 'EPIPE' ? exitCodes.ok : exitCodes.error);
});

try {
  await kedgeProgram().parseAsync();
} catch (error) {
  if (error instanceof CommanderError)
    process.exitCode = error.exitCode === 0 ? exitCodes.ok : exitCodes.usage;
  else {
    await explain(error);
    process.exitCode = exitCodeOf(error);
  }
}
