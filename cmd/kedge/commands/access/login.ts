import type { Command } from 'commander';
import { invalid } from 'kedge/objects';
import { connect } from '../../connection/api.js';
import { contextFile } from '../../connection/context-file.js';
import { contextOfLogin, writeContext } from '../../connection/context.js';
import { withExamples } from '../../program/examples.js';
import { print } from '../../output/output.js';

interface LoginOptions {
  readonly server?: string;
  readonly name: string;
  readonly caFile?: string;
  readonly certFile?: string;
  readonly keyFile?: string;
  readonly tls?: boolean;
}

/**
 * The token in a text: the text itself, or a field of a response of Bootstrap or CreateToken.
 * @throws StatusError InvalidArgument without a token
 */
function tokenIn(text: string): string {
  if (!text.startsWith('{')) return text;
  let answer: unknown;
  try {
    answer = JSON.parse(text);
  } catch {
    // The error below does not quote the text, which may be a secret.
  }
  const { token } = (answer ?? {}) as { readonly token?: unknown };
  if (typeof token === 'string') return token;
  throw invalid([
    {
      field: 'token',
      description:
        'standard input is neither a token nor an answer that contains one; pass the token that kedge token create prints',
    },
  ]);
}

async function readToken(server: string): Promise<string> {
  if (process.stdin.isTTY) process.stderr.write(`Token for ${server}: `);
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) {
    chunks.push(chunk as Buffer);
    if (process.stdin.isTTY && String(chunk).includes('\n')) break;
  }
  const token = tokenIn(Buffer.concat(chunks).toString().trim());
  if (token !== '') return token;
  throw invalid([
    { field: 'token', description: 'is expected on standard input: kedge login < token-file' },
  ]);
}

async function login({ name, ...given }: LoginOptions): Promise<void> {
  const found = await contextOfLogin(name, given);
  const { server } = found;
  const context = { ...found, token: await readToken(server) };
  const client = await connect(context);
  try {
    const me = await client.call('AuthService.WhoAmI', {});
    await writeContext(name, context);
    print(`Logged in to ${server} as ${String(me.subject)}; stored in ${contextFile()}`);
  } finally {
    client.close();
  }
}

/** Adds `kedge login`. */
export function addLogin(program: Command): void {
  const command = program
    .command('login')
    .description('store a token, read from standard input, for a server')
    .option(
      '--server <host:port>',
      'gRPC address; default: KEDGE_SERVER, else that of the stored context, else 127.0.0.1:7863',
    )
    .option('--name <context>', 'name of the stored context', 'default')
    .option('--tls', 'use TLS with the certificate authorities of the system')
    .option('--ca-file <file>', 'use TLS with this certificate authority (PEM)')
    .option('--cert-file <file>', 'client certificate for mutual TLS (PEM)')
    .option('--key-file <file>', 'its key (PEM)')
    .action((options: LoginOptions) => login(options));
  withExamples(
    command,
    ['kedge login --server kedge.example.com:7863 --name prod --tls < token-file', 'Over TLS'],
    ['kedge login', 'Log in to the local daemon; type the token'],
    ['kedge login --name prod < token-file', 'Replace the token of a stored context'],
  );
}
