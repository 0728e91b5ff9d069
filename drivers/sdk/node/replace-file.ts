import { open, rename } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Ending of the temporary file of {@link replaceFile}. One may remain after a crash; the next call replaces it. */
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
 * Replaces a file durably, with mode 0600: after a crash either the old or the complete new file exists. Calls for
 * one path must not overlap.
 */
export async function replaceFile(path: string, text: string): Promise<void> {
  const draft = `${path}${draftEnding}`;
  const file = await open(draft, 'w', 0o600);
  try {
    // An existing draft would keep its mode.
    await file.chmod(0o600);
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(draft, path);
  await syncFolder(dirname(path));
}
