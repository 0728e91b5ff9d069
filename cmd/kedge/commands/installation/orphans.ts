import type { Command } from 'commander';
import { isJsonObject, type JsonObject, textOf } from 'kedge/rpc';
import { connect } from '../../connection/api.js';
import { nameOf } from '../../connection/targets.js';
import { dataText, parseDataFormat } from '../../output/formats.js';
import { note, print, table } from '../../output/output.js';
import { withExamples } from '../../program/examples.js';

interface OrphanOptions {
  readonly class?: string;
  readonly all?: boolean;
  readonly namespace: string;
  readonly output: string;
}

/** Providers may answer slowly, page by page. */
const timeoutMs = 600_000;

function objectsIn(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

function row(orphan: JsonObject): readonly string[] {
  return [
    ...['type', 'handle', 'name', 'driver', 'origin'].map((field) => textOf(orphan, field)),
    textOf(orphan, 'sizeBytes') || '-',
    textOf(orphan, 'attachedTo') || '-',
  ];
}

async function orphans(options: OrphanOptions): Promise<void> {
  const format = parseDataFormat(options.output);
  const request = {
    storageClassName: options.class === undefined ? '' : nameOf(['StorageClass'], options.class),
    all: options.all === true,
    secretNamespace: options.namespace,
  };
  const client = await connect();
  try {
    const answer = await client.call('AdminService.FindOrphans', request, { timeoutMs });
    if (format !== 'table') return print(await dataText(answer, format));
    const found = objectsIn(answer.orphans);
    const warnings = Array.isArray(answer.warnings) ? answer.warnings : [];
    const where = warnings.length > 0 ? ' in what was searched; see the warnings' : '';
    if (found.length === 0) print(`No orphans were found${where}.`);
    else {
      const header = ['TYPE', 'HANDLE', 'NAME', 'DRIVER', 'ORIGIN', 'BYTES', 'ATTACHED TO'];
      print(table([header, ...found.map(row)]));
      for (const orphan of found)
        if (textOf(orphan, 'secondOf') !== '')
          print(
            `\n${textOf(orphan, 'handle')} was created for ${textOf(orphan, 'secondOf')}, which uses ${textOf(orphan, 'usedHandle')}: keep that one.`,
          );
      const commands = found
        .map((orphan) => textOf(orphan, 'importCommand'))
        .filter((text) => text !== '');
      if (commands.length > 0)
        print(`\nTo bring a volume under management:\n${commands.join('\n')}`);
    }
    for (const text of warnings) note(`warning: ${String(text)}`);
  } finally {
    client.close();
  }
}

/** `kedge admin orphans` */
export function addOrphans(admin: Command): void {
  const command = admin
    .command('orphans')
    .description(
      'list volumes and snapshots at the providers that no object owns, with the commands that import them; nothing is deleted',
    )
    .option('--class <name>', 'only with the driver, credential and region of this class')
    .option(
      '--all',
      'also volumes and snapshots that other clusters created, or without a mark of Kedge',
    )
    .option(
      '-n, --namespace <name>',
      'namespace of secrets that classes name without one',
      'default',
    )
    .option('-o, --output <format>', 'table, json or yaml', 'table')
    .action((options: OrphanOptions) => orphans(options));
  withExamples(
    command,
    ['kedge admin orphans', 'Volumes and snapshots that this cluster created and no object owns'],
    ['kedge admin orphans --class fast --all', 'Every volume that the class can see'],
  );
}
