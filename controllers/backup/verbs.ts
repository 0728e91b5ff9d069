import type { EmbeddedStore } from 'kedge';
import type { JsonObject } from 'kedge/rpc';
import type { CustomMethod } from 'kedge/server';

/** Options of online backups. */
export interface OnlineBackups {
  readonly store: Pick<EmbeddedStore, 'backup'>;
  /** The location of the key-encryption key, for messages. */
  readonly keyPlace: string;
}

/** A backup as messages. The store waits for the reader, and stops when the reader stops. */
async function* backup({ store, keyPlace }: OnlineBackups): AsyncIterable<JsonObject> {
  const { readable, writable } = new TransformStream<Buffer, Buffer>();
  const writer = writable.getWriter();
  const report = store.backup((bytes) => writer.write(bytes));
  const passed = report.then(
    () => writer.close(),
    (error: unknown) => writer.abort(error),
  );
  // The stream reports errors.
  passed.catch(() => undefined);
  for await (const bytes of readable) yield { data: bytes.toString('base64') };
  const { clusterId, revision, objects, bytes } = await report;
  const counts = { revision: `${revision}`, objects: `${objects}`, bytes: `${bytes}` };
  yield { done: { clusterId, ...counts, keyPlace } };
}

/** `AdminService.Backup`. */
export function backupVerbs(backups: OnlineBackups): readonly CustomMethod[] {
  return [
    {
      id: 'AdminService.Backup',
      access: { type: 'policy', resource: 'backups', verb: 'create', scope: 'Cluster' },
      handler: { type: 'stream', call: () => backup(backups) },
    },
  ];
}
