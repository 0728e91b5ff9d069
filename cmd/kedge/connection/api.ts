import { readFile } from 'node:fs/promises';
import { type AnyKind, invalid, notFound } from 'kedge/objects';
import { ApiClient, type ClientTls, wholeList } from 'kedge/client';
import { baseDescriptors, type JsonObject, SchemaRegistry } from 'kedge/rpc';
import type { KedgeClientOptions } from '@kedge/api/client';
import { apiSchemas } from '@kedge/api/schemas';
import { allKinds } from '@kedge/controllers/kinds';
import { nearest } from '../../near-miss.js';
import { type Context, currentContext } from './context.js';
import { print } from '../output/output.js';

const methodIds = apiSchemas()
  .services('api')
  .flatMap((service) => service.methods.map((method) => `${service.name}.${method.name}`));

async function tlsOf({
  caFile,
  certFile,
  keyFile,
  tls,
}: Partial<Context>): Promise<ClientTls | undefined> {
  if (!caFile && !tls) return undefined;
  return {
    ...(caFile ? { ca: await readFile(caFile) } : {}),
    ...(certFile ? { cert: await readFile(certFile) } : {}),
    ...(keyFile ? { key: await readFile(keyFile) } : {}),
  };
}

/** The server and the credentials of the last client. */
let used: KedgeClientOptions | undefined;

/** The server of the last client. */
let called: string | undefined;

/** Whether the last client used the token of KEDGE_TOKEN. */
let isTokenGiven = false;

/** The server of the last client, for error messages; undefined before the first one. */
export function calledServer(): string | undefined {
  return called;
}

/** Whether the last client used the token of KEDGE_TOKEN, which overrides stored tokens. */
export function usedGivenToken(): boolean {
  return isTokenGiven;
}

/**
 * Creates a client for a context; default: the current one.
 * @throws StatusError InvalidArgument for an invalid token, and as {@link currentContext}; the system's error for a
 * certificate file that can't be read
 */
export async function connect(context?: Context): Promise<ApiClient> {
  used = await connectionOf(context);
  // `kedgeClient` would load the codecs of all messages; commands convert by descriptors.
  return new ApiClient({
    ...used,
    schemas: apiSchemas(),
    packageName: 'api',
  });
}

/**
 * A client for another package that a server serves, such as reflection: that of the last client, whose connection it
 * uses while that client is open, else that of the current context. Errors as {@link connect}.
 */
export async function connectTo(packageName: string): Promise<ApiClient> {
  used ??= await connectionOf();
  return new ApiClient({ ...used, schemas: new SchemaRegistry(baseDescriptors), packageName });
}

async function connectionOf(context?: Context): Promise<KedgeClientOptions> {
  const { server, token, ...certificates } = context ?? (await currentContext());
  called = server;
  isTokenGiven = token !== undefined && token === process.env.KEDGE_TOKEN;
  // The transport would refuse the header with an error that contains the token.
  if (token !== undefined && !/^[\x21-\x7e]+$/.test(token))
    throw invalid([
      {
        field: 'token',
        description:
          'contains spaces, line breaks or other characters that are invalid in a token; copy it again, or use a file that contains only the token',
      },
    ]);
  const tls = await tlsOf(certificates);
  return {
    server,
    token,
    // A daemon that restarts is available again within seconds.
    retry: { attempts: 4 },
    ...(tls ? { tls } : {}),
  };
}

/**
 * The kind for a word of the command line: its name, its plural or a short name, in any case.
 * @param hint the end of the error if the word is not similar to a kind
 * @throws StatusError InvalidArgument with a similar word, or with all kinds
 */
export function kindNamed(word: string, hint = ''): AnyKind {
  const wanted = word.toLowerCase();
  const kind = allKinds.find(
    (k) => k.plural === wanted || k.kind.toLowerCase() === wanted || k.shortNames.includes(wanted),
  );
  if (kind) return kind;
  const names = allKinds.flatMap((k) => [k.plural, k.kind.toLowerCase(), ...k.shortNames]);
  const meant = nearest(word, names);
  const known = allKinds.map((k) => k.plural).join(', ');
  const why =
    meant === undefined
      ? `must be one of: ${known}${hint}`
      : `is not a kind; did you mean ${meant}?`;
  throw invalid([{ field: 'TYPE', description: `${JSON.stringify(word)} ${why}` }]);
}

/** The kind of a `kind:` value in a file, which is spelled exactly; undefined if there is none. */
export function kindSpelled(word: string): AnyKind | undefined {
  return allKinds.find((k) => k.kind === word);
}

function methodIdFor(kind: AnyKind, verb: string): string | undefined {
  const plural = `${verb}${kind.kind}s`.toLowerCase();
  const candidates = [
    `${kind.kind}Service.${verb}`.toLowerCase(),
    `.${verb}${kind.kind}`.toLowerCase(),
    `.${plural}`,
    `.${verb}${kind.plural}`.toLowerCase(),
  ];
  return methodIds.find((id) => {
    const lower = id.toLowerCase();
    return candidates.some((c) => lower === c || (c.startsWith('.') && lower.endsWith(c)));
  });
}

/** Whether the API has the method `verb` for a kind. */
export function canDo(kind: AnyKind, verb: string): boolean {
  return methodIdFor(kind, verb) !== undefined;
}

/** The RPC `verb` of a kind. @throws StatusError NotFound if the API has none */
export function methodFor(kind: AnyKind, verb: string): string {
  const found = methodIdFor(kind, verb);
  if (found !== undefined) return found;
  throw notFound({ kind: 'Method', name: `${verb} of ${kind.plural}` });
}

/** Whether the API describes objects of a kind. */
export function isDescribed(kind: AnyKind): boolean {
  return methodIds.includes(`${kind.kind}Service.Describe`);
}

/** Lists all items, over all pages of a list. */
export async function listAll(
  client: ApiClient,
  kind: AnyKind,
  request: JsonObject,
): Promise<readonly JsonObject[]> {
  const method = methodFor(kind, 'List');
  const { items } = await wholeList((pageToken) =>
    client.call(method, { ...request, limit: 500, pageToken }),
  );
  return items;
}

/** Makes a call, ignores its response, and prints a message. */
export async function callAndSay(method: string, request: JsonObject, done: string): Promise<void> {
  const client = await connect();
  try {
    await client.call(method, request);
    print(done);
  } finally {
    client.close();
  }
}
