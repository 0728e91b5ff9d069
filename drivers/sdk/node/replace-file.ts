import { open, rename } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Ending of what {@link replaceFile} writes until it is whole. After a crash one may be left; the next call takes its place. */
export const draftEnding = '.new';

/** Makes names that were created, renamed or removed in a folder durable. */
export async function syncFolder(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/**
 * Writes a file that its owner alone may read, durably: after a crash at any moment there is the old one or the
 * whole new one. Two calls about one path must not overlap.
 */
export async function replaceFile(path: string, text: string): Promise<void> {
  const draft = `${path}${draftEnding}`;
  const file = await open(draft, 'w', 0o600);
  try {
    // A draft that was there keeps its mode otherwise.
    await file.chmod(0o600);
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(draft, path);
  await syncFolder(dirname(path));
}
