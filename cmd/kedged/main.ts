import { join } from 'node:path';
import { Command, CommanderError } from 'commander';
import { type EmbeddedStore, messageOf, StatusError, systemClock } from 'kedge';
import { installation } from '../installation.js';
import { addUsageHints } from '../kedge/program/usage-hints.js';
import { version } from '../version.js';
import {
  ownExampleDirectory,
  prepareExamples,
  sharedExampleDirectory,
} from './config/local-profile.js';
import { reportMigration } from './data/report-migration.js';
import { daemonLogger } from './telemetry/daemon-logger.js';
import { logProcessWarnings } from './telemetry/process-warnings.js';
import { addDataCommands, requireStore } from './data/data-commands.js';
import { openDaemonData, openDataDirectory } from './data/data-directory.js';
import {
  type ConfigOptions,
  configurationFile,
  loadConfig,
  withSettings,
} from './config/load-config.js';
import { restoreAdvice } from './data/restore-advice.js';
import { ensureLocalContext, firstAccess, isLocalCurrent } from './config/local-context.js';
import type { DaemonConfig } from './config/settings.js';
import { stopSignals } from './stop-signals.js';
import { addUpgradeCommand } from './data/upgrade-command.js';
import { growHeapFreely } from './heap-growth.js';
import type { Daemon } from './wire.js';

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

function quick(host: string, port: number): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

async function greet(config: DaemonConfig, daemon: Daemon, cluster: string): Promise<void> {
  const host = config.grpcAddress.replace(/:\d+$/, '').replaceAll(/[[\]]/g, '');
  const server = quick(host, daemon.ports.grpc);
  const restServer = `http://${quick(host, daemon.ports.rest)}`;
  const access = await ensureLocalContext(cluster, { server, restServer });
  const how = installation();
  say('');
  say(`Kedge is running. gRPC ${server}, REST http://${quick(host, daemon.ports.rest)}/v1`);
  say(`Data: ${config.dataDirectory}`);
  const lack =
    access === 'missing'
      ? 'No context "local" is stored for this user.'
      : 'The context "local" of this user was stored for another cluster. If its token is refused:';
  if (access !== 'kept')
    say(
      `${lack} Stop kedged, create a root token with "${how.kedged} recover-root --data-directory ${config.dataDirectory}", start kedged again, and store the token with "${how.kedge} login --name local --server ${server}".`,
    );
  say('');
  say(`Next, in another terminal${how.start === 'npm start' ? ', in this directory' : ''}:`);
  say('');
  // The user may have chosen the context of another server, to which the commands below would go.
  if (access !== 'missing' && !(await isLocalCurrent())) say(`  ${how.kedge} context use local`);
  const [directory = sharedExampleDirectory] = config.hostPathAllowlist;
  const isOwn = directory === ownExampleDirectory();
  const examples = isOwn ? await prepareExamples(directory, config.dataDirectory) : how.examples;
  say(`  ${how.kedge} cast ${join(examples, 'journal.yaml')}`);
  say(`  ${how.kedge} get volumes`);
  say(`  ${how.kedge} logs journal-0 --follow`);
  say('');
  say('Ctrl-C stops it; its data is kept for the next start.');
}

/** Maximum wait of a stopped daemon for remaining handles. */
const leftoverMs = 2_000;

function stopOnSignals(daemon: Daemon, config: DaemonConfig, onStopped: () => void): void {
  const stop = (): void => {
    daemon.stop(config.shutdownTimeoutSeconds * 1_000).then(onStopped, (error: unknown) => {
      // The stop exceeded its budget, and the log has the remaining workloads. The next daemon adopts them, as after a
      // kill.
      if (error instanceof StatusError && error.reason === 'StopTimeout') return onStopped();
      process.stderr.write(`kedged: stopping failed: ${messageOf(error)}\n`);
      process.exit(1);
    });
  };
  const handle = stopSignals({ clock: systemClock, stop, end: () => process.exit(130) });
  process.on('SIGTERM', handle);
  process.on('SIGINT', handle);
}

async function serve(options: ConfigOptions): Promise<void> {
  const config = await loadConfig(options);
  if (options.checkConfig) {
    process.stdout.write(configurationFile(config));
    return;
  }
  growHeapFreely();
  const logger = daemonLogger(config.logLevel);
  logProcessWarnings(logger);
  // The database replays its log in a separate thread. Meanwhile this thread loads the rest of the program.
  const opening = openDaemonData(config, logger);
  opening.catch(() => undefined); // its error is reported where it is awaited later
  const { startDaemon } = await import('./wire.js');
  let cluster = '';
  const beforeListen = async (store: EmbeddedStore): Promise<void> => {
    cluster = store.clusterId;
    reportMigration(store);
    const { grpcAddress: server, restAddress } = config;
    if (options.local) await firstAccess(store, { server, restServer: `http://${restAddress}` });
  };
  const daemon = await startDaemon(config, logger, beforeListen, undefined, opening);
  stopOnSignals(daemon, config, () => {
    logger.info('stopped');
    process.exitCode = 0;
    // Hanging work, such as an abandoned driver call, must not block a stopped daemon.
    const exit = (): void => process.exit(0);
    systemClock.setTimer(exit, leftoverMs, { background: true });
  });
  const sinceStartMs = Math.round(performance.now());
  logger.info('ready', { ...daemon.ports, node: config.nodeName, cluster, sinceStartMs });
  if (!options.local) return;
  // An error here does not end the daemon: on a full disk neither examples nor a context can be written.
  await greet(config, daemon, cluster).catch((error: unknown) =>
    say(`Kedge is running, but ${messageOf(error)}`),
  );
}

async function recover(options: ConfigOptions): Promise<void> {
  const config = await loadConfig(options);
  await requireStore(config.dataDirectory);
  const store = await openDataDirectory(config.dataDirectory, daemonLogger('warn'));
  try {
    reportMigration(store);
    const { recoverRoot } = await import('kedge/auth');
    const token = await recoverRoot(store);
    process.stderr.write('A new root token (shown only once; revoke the lost one):\n');
    say(token);
  } finally {
    await store.close();
  }
}

const program: Command = withSettings(new Command('kedged'))
  .description('The Kedge daemon: API, controllers and node agent in one process')
  .version(version)
  .option('--local', 'profile for one local user: bootstraps itself and stores a CLI context')
  .option('--check-config', 'print the effective configuration as a file, change nothing, and exit')
  .exitOverride()
  .action((options: ConfigOptions, { args: [unknown] }: Command) => {
    if (unknown !== undefined) program.error(`error: unknown command '${unknown}'`);
    return serve(options);
  });
withSettings(
  program
    .command('recover-root')
    .description('create a new root token; the daemon must be stopped'),
).action((_options: ConfigOptions, command: Command) => recover(command.optsWithGlobals()));
addDataCommands(program);
addUpgradeCommand(program);
addUsageHints(program);
// Set after the commands, which would inherit it. A word that is no command reaches the action, whose error names it.
program.allowExcessArguments();

try {
  await program.parseAsync();
} catch (error) {
  if (error instanceof CommanderError) process.exit(error.exitCode === 0 ? 0 : 2);
  process.stderr.write(`kedged: ${messageOf(error)}\n${restoreAdvice(error)}`);
  process.exit(1);
}
