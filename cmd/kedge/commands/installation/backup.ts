import type { Command } from 'commander';
import type { BackupReport } from 'kedge';
import { counted, StatusError } from 'kedge/objects';
import type { ApiClient } from 'kedge/client';
import { isJsonObject, type JsonObject, textOf } from 'kedge/rpc';
import { connect } from '../../connection/api.js';
import { withExamples } from '../../program/examples.js';
import { print } from '../../output/output.js';

function incomplete(detail: string): StatusError {
  return new StatusError({
    code: 'DataLoss',
    reason: 'BackupIncomplete',
    message: `the backup is incomplete (${detail}), and no file was written; retry`,
  });
}

/**
 * Passes the bytes of the daemon's backup to `sink`, and returns the last message.
 * @throws StatusError if the backup is incomplete
 */
async function received(
  client: ApiClient,
  signal: AbortSignal,
  sink: (bytes: Buffer) => Promise<void>,
): Promise<JsonObject> {
  let bytes = 0;
  let done: JsonObject | undefined;
  for await (const message of client.stream('AdminService.Backup', {}, signal)) {
    if (isJsonObject(message.done)) done = message.done;
    const piece = Buffer.from(textOf(message, 'data'), 'base64');
    if (piece.length === 0) continue;
    bytes += piece.length;
    await sink(piece);
  }
  if (signal.aborted) throw incomplete('interrupted');
  if (!done) throw incomplete('the daemon ended the stream early');
  if (Number(done.bytes) !== bytes)
    throw incomplete(`received ${bytes} of ${counted(Number(done.bytes), 'byte')}`);
  return done;
}

async function backup(file: string): Promise<void> {
  const interrupted = new AbortController();
  process.once('SIGINT', () => interrupted.abort());
  const client = await connect();
  try {
    let keyPlace = '';
    const source = {
      backup: async (sink: (bytes: Buffer) => Promise<void>): Promise<BackupReport> => {
        const done = await received(client, interrupted.signal, sink);
        keyPlace = textOf(done, 'keyPlace');
        const clusterId = textOf(done, 'clusterId');
        const counts = {
          revision: Number(done.revision),
          objects: Number(done.objects),
          bytes: Number(done.bytes),
        };
        return { storeId: '', clusterId, ...counts };
      },
    };
    const { backupToFile } = await import('kedge');
    const { objects, revision, bytes } = await backupToFile(source, file);
    print(
      `${file}: ${counted(objects, 'object')} at revision ${revision}, ${counted(bytes, 'byte')}`,
    );
    print(
      `The backup does not contain the key-encryption key: also keep ${keyPlace} of the daemon's machine, in another place.`,
    );
  } finally {
    client.close();
  }
}

/** Adds `kedge admin backup`. */
export function addBackup(admin: Command): void {
  const command = admin
    .command('backup')
    .argument('<file>', 'the backup file on this machine, which is created atomically')
    .description('back up the running daemon: all objects at one revision, without blocking writes')
    .action((file: string) => backup(file));
  withExamples(command, [
    'kedge admin backup /srv/backups/kedge.backup',
    'Without blocking writes',
  ]);
}
