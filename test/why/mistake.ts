import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { eventually } from 'kedge/testing';
import { type Finished, finish, root, type TestDaemon } from '../acceptance/daemon.js';

/** The context of a mistake: a separate namespace. */
export interface Place {
  readonly daemon: TestDaemon;
  readonly namespace: string;
  /** Stores an object, by the plural of its kind. */
  readonly post: (plural: string, object: object) => Promise<void>;
  /** Writes a file for `kedge cast` to `$FILE`. */
  readonly file: (text: string) => Promise<void>;
}

/** One mistake, the command that explains it, and the required words of the answer. */
export interface Mistake {
  readonly name: string;
  readonly given: (place: Place) => Promise<unknown>;
  /** The awaited message before the command is run: words in an object of the namespace, such as `services/web`. */
  readonly until?: readonly [path: string, words: string];
  /** `$NS` and `$FILE` stand for the namespace and the file, the variable `REST` is the address of the REST API. */
  readonly command: string;
  readonly words: readonly string[];
  /** Default: 0. */
  readonly code?: number;
  /** The remedy is executed as printed, with VALUE replaced, and then the object has the status. */
  readonly then?: {
    /** The choice of the reader: for VALUE, or in the editor as `from` and `to`. */
    readonly value?: string;
    readonly edit?: readonly [from: string, to: string];
    readonly recovers: readonly [path: string, status: string];
  };
}

/** The outcome of a mistake. */
export interface Outcome {
  readonly namespace: string;
  readonly output: string;
  readonly code: number | null;
  readonly remedied?: string;
}

/** Creates a folder with `kedge` and an editor that replaces text, for the execution of remedies. */
export async function makeTools(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  const kedge = `#!/bin/sh\nexec ${process.execPath} ${join(root, 'cmd/bin/kedge.mjs')} "$@"\n`;
  const editor = '#!/bin/sh\nexec sed -i "s|$EDIT_FROM|$EDIT_TO|" "$1"\n';
  for (const [name, text] of [
    ['kedge', kedge],
    ['change', editor],
  ] as const) {
    await writeFile(join(folder, name), text);
    await chmod(join(folder, name), 0o755);
  }
}

function placeOf(daemon: TestDaemon, namespace: string): Place {
  return {
    daemon,
    namespace,
    post: async (plural, object) => {
      const cluster = ['storageclasses', 'namespaces'].includes(plural);
      const base = cluster ? '/v1' : `/v1/namespaces/${namespace}`;
      await daemon.ok('POST', `${base}/${plural}`, object);
    },
    file: (text) =>
      writeFile(join(daemon.home, `${namespace}.yaml`), text.replaceAll('$NS', namespace)),
  };
}

function shell(
  daemon: TestDaemon,
  text: string,
  env: Record<string, string> = {},
): Promise<Finished> {
  const PATH = `${join(daemon.home, 'bin')}:${process.env['PATH'] ?? ''}`;
  const given = { ...daemon.cliEnvironment, REST: daemon.restAddress, PATH };
  return finish('sh', ['-c', text], { ...given, ...env });
}

/** The command on the line after `Next:`, or on that line. */
export function nextIn(output: string): string {
  const [, found = ''] = /Next:\s+(\S.*)$/m.exec(output) ?? [];
  return found;
}

/** Makes a mistake, runs the command that shows its cause, and executes the remedy if the mistake has `then`. */
export async function makeMistake(
  daemon: TestDaemon,
  mistake: Mistake,
  namespace: string,
): Promise<Outcome> {
  const place = placeOf(daemon, namespace);
  await place.post('namespaces', { name: namespace });
  await mistake.given(place);
  const at = (given: string): string => {
    const path = given.replaceAll('$NS', namespace);
    const cluster = path.startsWith('nodes/') || path.startsWith('namespaces/');
    return cluster ? `/v1/${path}` : `/v1/namespaces/${namespace}/${path}`;
  };
  if (mistake.until) {
    const [path, words] = mistake.until;
    const wanted = words.replaceAll('$NS', namespace);
    await eventually(
      `${namespace} ${path}: ${wanted}`,
      async () => JSON.stringify((await daemon.rest('GET', at(path))).body).includes(wanted),
      60_000,
    );
  }
  const file = join(daemon.home, `${namespace}.yaml`);
  const line = mistake.command.replaceAll('$NS', namespace).replaceAll('$FILE', file);
  const { code, stdout, stderr } = await shell(daemon, line);
  const output = stdout + stderr;
  const { then } = mistake;
  if (!then) return { namespace, output, code };
  const next = nextIn(output).replaceAll(
    'VALUE',
    (then.value ?? 'VALUE').replaceAll('$HOME', daemon.home),
  );
  expect(next, `no command in:\n${output}`).to.not.equal('');
  const [EDIT_FROM = '', EDIT_TO = ''] = then.edit ?? [];
  const done = await shell(daemon, next, { EDIT_FROM, EDIT_TO, KEDGE_EDITOR: 'change' });
  expect(done.code, `${next}\n${done.stdout}${done.stderr}\n${output}`).to.equal(0);
  const [path, status] = then.recovers;
  await eventually(
    `${namespace} ${path} ${status} after ${next}`,
    async () => {
      const { body } = await daemon.rest('GET', at(path));
      return body.status === status || (status === 'gone' && body.code !== undefined);
    },
    60_000,
  );
  return { namespace, output, code, remedied: next };
}
