import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import type { MemoryEngine } from 'kedge';
import type { RecordingLogger } from 'kedge/testing';

/** The texts of the files of a directory and of a database, with all of its history. */
export async function keptTexts(
  directory: string,
  engine: MemoryEngine,
): Promise<readonly string[]> {
  const records: string[] = [];
  for await (const read of engine.scan(0))
    for (const record of read) records.push(Buffer.from(record.bytes).toString('latin1'));
  // They are read: the database has the name of its namespace.
  expect(records.some((text) => text.includes('shop'))).to.equal(true);
  const files = await readdir(directory, { recursive: true, withFileTypes: true });
  const contents = await Promise.all(
    files
      .filter((entry) => entry.isFile())
      .map((entry) => readFile(join(entry.parentPath, entry.name), 'latin1')),
  );
  return [...contents, ...records];
}

/** The lines of a log, with the messages and stacks of errors. */
export function loggedTexts({ lines }: RecordingLogger): readonly string[] {
  const withErrors = (_: string, value: unknown): unknown =>
    value instanceof Error ? `${value.message} ${String(value.stack)}` : value;
  return lines.map((line) => JSON.stringify(line, withErrors));
}

/** The texts that contain a secret. Thousands of volumes have more texts than one string can hold. */
export function disclosing(
  secrets: readonly string[],
  texts: readonly string[],
): readonly string[] {
  return texts.filter((text) => secrets.some((secret) => text.includes(secret)));
}
