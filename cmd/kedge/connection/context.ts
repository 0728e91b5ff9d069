import { chmod, mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { messageOf, StatusError } from 'kedge/objects';
import { installation } from '../../installation.js';
import { contextFile } from './context-file.js';

/** The address and the credentials of a server. */
export interface Context {
  /** The gRPC address, `host:port`. */
  readonly server: string;
  readonly restServer?: string;
  readonly token?: string;
  /** The id of the cluster that issued the token; absent if it is not known, as after `kedge login`. */
  readonly cluster?: string;
  /** CA of the server's certificate (PEM). Connections are encrypted if this or `tls` is set. */
  readonly caFile?: string;
  /** Encrypts connections and verifies the server with the system's CAs. */
  readonly tls?: boolean;
  /** Client certificate and key for mutual TLS. */
  readonly certFile?: string;
  readonly keyFile?: string;
}

/** The file of contexts: all contexts by name, and the name of the current one. */
export interface Contexts {
  readonly current: string;
  readonly contexts: Readonly<Record<string, Context>>;
}

const defaultServer = '127.0.0.1:7863';

function unusable(what: 'read' | 'written', cause: unknown): StatusError {
  return new StatusError({
    code: 'Unavailable',
    reason: 'ContextsUnusable',
    message: `${contextFile()} can't be ${what} (${messageOf(cause)}); fix that, set XDG_CONFIG_HOME to a writable directory, or set KEDGE_SERVER and KEDGE_TOKEN instead`,
    cause,
  });
}

/** The stored contexts; none if the file does not exist yet. @throws StatusError Unavailable (ContextsUnusable) */
export async function readContexts(): Promise<Contexts> {
  let text: string;
  try {
    text = await readFile(contextFile(), 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { current: '', contexts: {} };
    throw unusable('read', error);
  }
  const { parse } = await import('../output/yaml.js');
  let parsed: Partial<Contexts> | null;
  try {
    parsed = parse(text) as Partial<Contexts> | null;
  } catch (error) {
    // The parser's message quotes the invalid lines, which may contain a token, after its first line.
    const [problem] = messageOf(error).split('\n');
    throw unusable('read', new Error(problem));
  }
  return { current: parsed?.current ?? '', contexts: parsed?.contexts ?? {} };
}

/**
 * Replaces the file of contexts as a whole, with mode 0600 because it contains tokens. @throws StatusError Unavailable
 * (ContextsUnusable)
 */
async function writeContexts(next: Contexts): Promise<void> {
  const file = contextFile();
  try {
    const { stringify } = await import('../output/yaml.js');
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    const fresh = `${file}.${process.pid}.new`;
    await writeFile(fresh, stringify(next), { mode: 0o600 });
    await chmod(fresh, 0o600);
    await rename(fresh, file);
  } catch (error) {
    throw unusable('written', error);
  }
}

/**
 * Checks that contexts can be stored, before a token is created that would be lost otherwise.
 * @throws StatusError Unavailable (ContextsUnusable)
 */
export async function requireWritable(): Promise<void> {
  await writeContexts(await readContexts());
}

/** Stores a context and makes it the current one. @throws StatusError Unavailable (ContextsUnusable) */
export async function writeContext(name: string, context: Context): Promise<void> {
  const { contexts } = await readContexts();
  await writeContexts({ current: name, contexts: { ...contexts, [name]: context } });
}

/**
 * Makes a context the current one. The caller checks that it is stored.
 * @throws StatusError Unavailable (ContextsUnusable)
 */
export async function useContext(name: string): Promise<void> {
  const { contexts } = await readContexts();
  await writeContexts({ current: name, contexts });
}

/**
 * Renames a context; if it is the current one, it stays so. The caller checks that `from` is stored and `to` is not.
 * @throws StatusError Unavailable (ContextsUnusable)
 */
export async function renameContext(from: string, to: string): Promise<void> {
  const { current, contexts } = await readContexts();
  const renamed = Object.entries(contexts).map(([name, context]) => [
    name === from ? to : name,
    context,
  ]);
  await writeContexts({
    current: current === from ? to : current,
    contexts: Object.fromEntries(renamed) as Contexts['contexts'],
  });
}

/**
 * Removes a context. If it was the current one, no context is current afterwards.
 * @throws StatusError Unavailable (ContextsUnusable)
 */
export async function deleteContext(name: string): Promise<void> {
  const { current, contexts } = await readContexts();
  const others = Object.entries(contexts).filter(([other]) => other !== name);
  await writeContexts({
    current: current === name ? '' : current,
    contexts: Object.fromEntries(others),
  });
}

/**
 * The server and the certificates of a login: a given server, else that of KEDGE_SERVER, else that of the stored context
 * which the login replaces, else 127.0.0.1:7863. Certificates of the stored context are used only for its own server.
 * @param name the name of the context
 * @param given the options of the command; they take precedence
 * @throws StatusError Unavailable (ContextsUnusable)
 */
export async function contextOfLogin(
  name: string,
  { server: chosen, ...certificates }: Partial<Omit<Context, 'token'>>,
): Promise<Omit<Context, 'token'>> {
  const { contexts } = await readContexts();
  const stored = Object.hasOwn(contexts, name) ? contexts[name] : undefined;
  const server = chosen || process.env.KEDGE_SERVER || stored?.server || defaultServer;
  if (stored?.server !== server) return { server, ...certificates };
  // The cluster of the earlier token may be another one.
  const { token: _token, cluster: _cluster, ...kept } = stored;
  return { ...kept, ...certificates };
}

/**
 * The current context, in which KEDGE_SERVER and KEDGE_TOKEN take precedence if they are not empty. The default server
 * is 127.0.0.1:7863.
 * @throws StatusError Unauthenticated (NoContext) without a token; Unavailable (ContextsUnusable), unless both
 * variables are set
 */
export async function currentContext(): Promise<Context> {
  const { KEDGE_SERVER: givenServer, KEDGE_TOKEN: givenToken } = process.env;
  const { current, contexts } = await readContexts().catch((error: unknown): Contexts => {
    if (givenServer && givenToken) return { current: '', contexts: {} };
    throw error;
  });
  const stored = contexts[current];
  const server = (givenServer || stored?.server) ?? defaultServer;
  const token = givenToken || stored?.token;
  if (token === undefined)
    throw new StatusError({
      code: 'Unauthenticated',
      reason: 'NoContext',
      message: `no token is stored in ${contextFile()}; ${installation().firstToken}, or "${installation().kedge} login", or set KEDGE_TOKEN`,
    });
  return { ...stored, server, token };
}
