import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { invalid } from 'kedge/objects';

/** The sources of the values of a secret or configmap. */
export interface ValueOptions {
  readonly fromLiteral?: readonly string[];
  readonly fromFile?: readonly string[];
  readonly fromEnvFile?: readonly string[];
}

/** Values must be text: other bytes would be changed by the conversion. */
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function refuse(field: string, description: string): Error {
  return invalid([{ field, description }]);
}

async function textOf(path: string, option: string): Promise<string> {
  let bytes: Uint8Array;
  if (path === '-') {
    const chunks: Buffer[] = [];
    for await (const chunk of process.stdin as AsyncIterable<Buffer>) chunks.push(chunk);
    bytes = Buffer.concat(chunks);
  } else
    try {
      bytes = await readFile(path);
    } catch (error) {
      throw refuse(option, `${path} can't be read: ${(error as NodeJS.ErrnoException).code ?? ''}`);
    }
  try {
    return utf8.decode(bytes);
  } catch {
    throw refuse(option, `${path} is not valid UTF-8; encode it first, for example with base64`);
  }
}

function pair(text: string, option: string): readonly [key: string, value: string] {
  const at = text.indexOf('=');
  // The text after the equals sign may be a secret: do not quote it.
  if (at < 1) throw refuse(option, 'must be KEY=VALUE');
  return [text.slice(0, at), text.slice(at + 1)];
}

async function fromFile(text: string): Promise<readonly [key: string, value: string]> {
  const option = '--from-file';
  const [key, path] = text.includes('=') ? pair(text, option) : [basename(text), text];
  if (key === '-') throw refuse(option, 'a key is missing: KEY=- reads standard input');
  return [key, await textOf(path, option)];
}

async function fromEnvFile(path: string): Promise<(readonly [key: string, value: string])[]> {
  const option = '--from-env-file';
  return (await textOf(path, option)).split(/\r?\n/).flatMap((line, at) => {
    if (/^\s*(#|$)/.test(line)) return [];
    if (/^\w[\w.-]*=/.test(line)) return [pair(line, option)];
    throw refuse(`${path}:${at + 1}`, 'must be KEY=VALUE, a comment or empty');
  });
}

/**
 * Reads the values of the options.
 * @throws StatusError InvalidArgument; no message contains a value
 */
export async function valuesOf(options: ValueOptions): Promise<Readonly<Record<string, string>>> {
  const { fromLiteral = [], fromFile: files = [], fromEnvFile: envFiles = [] } = options;
  const inputs = [...files.map((text) => text.slice(text.indexOf('=') + 1)), ...envFiles];
  if (inputs.filter((path) => path === '-').length > 1)
    throw refuse('--from-file', 'standard input can be read only once');
  const pairs = [
    ...fromLiteral.map((text) => pair(text, '--from-literal')),
    ...(await Promise.all(files.map(fromFile))),
    ...(await Promise.all(envFiles.map(fromEnvFile))).flat(),
  ];
  const values = new Map<string, string>();
  for (const [key, value] of pairs) {
    if (values.has(key)) throw refuse(key, 'is given twice');
    values.set(key, value);
  }
  return Object.fromEntries(values);
}
