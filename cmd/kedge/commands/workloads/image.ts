import type { Stats } from 'node:fs';
import { open } from 'node:fs/promises';
import type { Command } from 'commander';
import { counted, invalid, StatusError } from 'kedge/objects';
import type { ApiClient } from 'kedge/client';
import { isJsonObject, type JsonObject, textOf } from 'kedge/rpc';
import { printableLine } from '../../../terminal-text.js';
import { connect } from '../../connection/api.js';
import { age, note, print, table } from '../../output/output.js';
import { withExamples } from '../../program/examples.js';

interface NodeOptions {
  readonly node?: string;
}

/** Deadline of a prune: each image that it removes takes the engine a while. */
const pruneTimeoutMs = 3_600_000;
/** Bytes of one message. */
const pieceBytes = 256 * 1024;

function shownBytes(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let value = bytes;
  let unit = 0;
  for (; value >= 1_024 && unit < units.length - 1; unit += 1) value /= 1_024;
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit] ?? ''}`;
}

function imagesOf(value: unknown): readonly JsonObject[] {
  return (Array.isArray(value) ? value : []).filter(isJsonObject);
}

function textsIn(image: JsonObject, field: string): readonly string[] {
  const value = image[field];
  return Array.isArray(value) ? value.map(String) : [];
}

function row(image: JsonObject): readonly string[] {
  const [tag = '<none>'] = [...textsIn(image, 'tags'), ...textsIn(image, 'digests')];
  const users = textsIn(image, 'instances');
  const more = users.length > 3 ? ` and ${users.length - 3} more` : '';
  return [
    tag,
    textOf(image, 'id').replace('sha256:', '').slice(0, 12),
    shownBytes(Number(image.sizeBytes)),
    age(image.createdAt, Date.now()),
    textOf(image, 'origin') || 'others',
    users.slice(0, 3).join(', ') + more,
  ];
}

const header = ['IMAGE', 'ID', 'SIZE', 'AGE', 'FROM', 'INSTANCES'];

async function withClient(work: (client: ApiClient) => Promise<void>): Promise<void> {
  const client = await connect();
  try {
    await work(client);
  } finally {
    client.close();
  }
}

function list({ node = '' }: NodeOptions): Promise<void> {
  return withClient(async (client) => {
    const rows: (readonly string[])[] = [];
    let pageToken = '';
    do {
      const answer = await client.call('ImageService.List', { node, pageToken });
      rows.push(...imagesOf(answer.items).map(row));
      pageToken = textOf(answer, 'nextPageToken');
    } while (pageToken !== '');
    print(table([header, ...rows]));
  });
}

function prune({ node = '', dryRun }: NodeOptions & { readonly dryRun?: boolean }): Promise<void> {
  return withClient(async (client) => {
    const request = { node, dryRun: dryRun === true };
    const answer = await client.call('ImageService.Prune', request, { timeoutMs: pruneTimeoutMs });
    const removed = imagesOf(answer.removed);
    if (removed.length > 0) print(table([header, ...removed.map(row)]));
    const count = Number(answer.removedCount) || removed.length;
    if (count > removed.length)
      note(`${counted(count - removed.length, 'more image is', 'more images are')} not shown`);
    const what = counted(count, 'image');
    const size = shownBytes(Number(answer.sizeBytes));
    print(`${what} ${dryRun ? 'would be removed' : 'removed'}, ${size}`);
  });
}

/** Pieces of a file after the message that begins the load. */
async function* messages(node: string, pieces: AsyncIterable<Buffer>): AsyncIterable<JsonObject> {
  yield { start: { node } };
  for await (const piece of pieces) yield { data: piece.toString('base64') };
}

/** Prints progress to standard error, in steps of 10 %, or of 100 MiB for a pipe of unknown size. */
class ShownProgress {
  readonly #sizeBytes: number;
  #step = 0;

  constructor(sizeBytes: number) {
    this.#sizeBytes = sizeBytes;
  }

  show(receivedBytes: number): void {
    const size = this.#sizeBytes;
    const stepBytes = size > 0 ? size / 10 : 100 * 1_048_576;
    const step = Math.floor(receivedBytes / stepBytes);
    if (step <= this.#step) return;
    this.#step = step;
    const share = size > 0 ? ` of ${shownBytes(size)}` : '';
    note(`${shownBytes(receivedBytes)}${share} loaded`);
  }
}

/** Checks that a file may be an archive. @throws StatusError InvalidArgument for a directory or an empty file */
function requireArchive(file: string, status: Stats): void {
  const remedy = 'create an archive with: docker save -o FILE IMAGE';
  if (status.isDirectory())
    throw invalid([{ field: 'FILE', description: `${file} is a directory; ${remedy}` }]);
  if (status.isFile() && status.size === 0)
    throw invalid([{ field: 'FILE', description: `${file} is empty; ${remedy}` }]);
}

async function load(file: string, { node = '' }: NodeOptions): Promise<void> {
  const handle = await open(file === '-' ? '/dev/stdin' : file, 'r').catch((cause: unknown) => {
    throw invalid([{ field: 'FILE', description: `${file} can't be read: ${String(cause)}` }]);
  });
  const interrupted = new AbortController();
  process.once('SIGINT', () => interrupted.abort());
  try {
    const status = await handle.stat();
    requireArchive(file, status);
    const progress = new ShownProgress(status.size);
    const pieces = handle.createReadStream({ highWaterMark: pieceBytes, autoClose: false });
    await withClient(async (client) => {
      const answers = client.duplex(
        'ImageService.Load',
        messages(node, pieces as AsyncIterable<Buffer>),
        interrupted.signal,
      );
      let loaded: readonly string[] | undefined;
      for await (const { progress: state, loaded: done } of answers) {
        if (isJsonObject(state)) progress.show(Number(state.receivedBytes));
        if (isJsonObject(done)) loaded = textsIn(done, 'images');
      }
      if (!loaded)
        throw new StatusError({
          code: 'Cancelled',
          reason: 'Cancelled',
          message: 'the load was interrupted, and no image was created; load the file again',
        });
      for (const name of loaded) print(`${printableLine(name)} loaded`);
    });
  } finally {
    await handle.close();
  }
}

/** Adds `kedge image load|list|prune`. */
export function addImage(program: Command): void {
  const image = program.command('image').description('manage the container images of a node');
  const node = ['--node <name>', 'the node; default: that of the daemon'] as const;
  withExamples(
    image
      .command('load')
      .argument('<file>', 'a tar archive of docker save; - for standard input')
      .description('load images from a local file to a node')
      .option(...node)
      .action((file: string, options: NodeOptions) => load(file, options)),
    ['kedge image load app.tar', 'Load an archive of docker save -o app.tar app:1'],
  );
  withExamples(
    image
      .command('list')
      .description('list the images of a node, and the instances that use them')
      .option(...node)
      .action((options: NodeOptions) => list(options)),
    ['kedge image list', 'FROM shows the images that Kedge pulled or loaded'],
  );
  withExamples(
    image
      .command('prune')
      .description('remove images that Kedge pulled or loaded and that no instance uses')
      .option(...node)
      .option('--dry-run', 'print the images without removing them')
      .action((options: NodeOptions & { readonly dryRun?: boolean }) => prune(options)),
    ['kedge image prune --dry-run', 'The images that would be removed'],
  );
}
