import type { Command } from 'commander';
import { type JsonObject, textOf } from 'kedge/rpc';
import pc from 'picocolors';
import { causeIn } from '../../connection/connection-faults.js';
import { connect } from '../../connection/api.js';
import { withExamples } from '../../program/examples.js';
import { wholeNumber } from '../../program/number-option.js';
import { nameOf } from '../../connection/targets.js';
import { note } from '../../output/output.js';
import { resumed } from '../../connection/resumed-stream.js';

interface LogsOptions {
  readonly namespace: string;
  readonly follow?: boolean;
  readonly tail: number;
  readonly since?: string;
  readonly until?: string;
  readonly timestamps?: boolean;
  readonly previous?: boolean;
}

async function logs(word: string, options: LogsOptions): Promise<void> {
  const name = nameOf(['Instance', 'Service'], word);
  const client = await connect();
  const interrupted = new AbortController();
  process.once('SIGINT', () => interrupted.abort());
  // A closed pipe (head, less) ends the command silently.
  process.stdout.once('error', () => interrupted.abort());
  try {
    const request = {
      namespace: options.namespace,
      name,
      follow: options.follow === true,
      tail: options.tail,
      since: options.since ?? '',
      until: options.until ?? '',
      previous: options.previous === true,
    };
    const { signal } = interrupted;
    // An unreachable server at the start is an error; a later outage is retried.
    if (options.follow) await client.call('AuthService.WhoAmI', {});
    const open = (after: string): AsyncIterable<JsonObject> =>
      client.stream('LogService.Get', { ...request, after }, signal);
    // Without --follow the stream is short: an outage is an error, and the user repeats the command.
    const lines = options.follow
      ? resumed({
          open,
          signal,
          onLost: (why) => note(`${causeIn(why)}; continuing once the server answers ...`),
        })
      : open('');
    let silent = true;
    for await (const line of lines) {
      silent = false;
      const instance = textOf(line, 'instance');
      const prefix = instance === name ? '' : pc.dim(`[${instance}] `);
      const time = options.timestamps ? `${pc.dim(textOf(line, 'time') || '-')} ` : '';
      process.stdout.write(`${prefix}${time}${textOf(line, 'content')}\n`);
    }
    if (silent && !signal.aborted)
      note(
        `${options.previous ? 'the previous run of ' : ''}${name} has no output${options.since || options.until ? ' in that time' : ''}.`,
      );
  } finally {
    client.close();
  }
}

/** Adds `kedge logs NAME`. */
export function addLogs(program: Command): void {
  const command = program
    .command('logs')
    .argument('<name>', 'NAME, instance/NAME, or service/NAME for all its instances')
    .description('show the output of workloads')
    .option('-n, --namespace <name>', 'namespace', 'default')
    .option('-f, --follow', 'continue with new lines')
    .option(
      '--tail <lines>',
      'start with this many last lines of each instance; 0 means all',
      wholeNumber('--tail', 2 ** 31 - 1),
      0,
    )
    .option('--since <time>', 'only lines of the last period, such as 30s, 5m, 2h or 1d')
    .option('--until <time>', 'only lines from before the last period, such as 30s, 5m, 2h or 1d')
    .option(
      '--timestamps',
      'print when each line was written; for a process accurate to half a minute',
    )
    .option('-p, --previous', 'the output of the previous run, if it ended by itself')
    .action((name: string, options: LogsOptions) => logs(name, options));
  withExamples(
    command,
    ['kedge logs web-0 --tail 20', 'The last lines of an instance'],
    ['kedge logs web-0 --previous', 'The output of the previous run'],
    ['kedge logs service/web --follow --since 5m', 'New lines of all instances of a service'],
  );
}
