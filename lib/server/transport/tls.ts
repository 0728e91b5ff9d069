import { readFile, stat } from 'node:fs/promises';
import { createSecureContext, type Server as TlsServer } from 'node:tls';
import { type Clock, type Logger, messageOf, sleep, StatusError } from '../../base/index.js';

/** Certificates of a server, as files in PEM form. */
export interface TlsFiles {
  readonly certFile: string;
  readonly keyFile: string;
  /** If set, clients must present a certificate of one of these authorities, in addition to their token. */
  readonly clientCaFile?: string | undefined;
}

/** The content of the files. */
export interface TlsMaterial {
  readonly cert: Buffer;
  readonly key: Buffer;
  readonly clientCa: Buffer | undefined;
}

/** TLS options of Node.js servers. */
export interface ServerTls {
  readonly cert: Buffer;
  readonly key: Buffer;
  readonly ca?: Buffer;
  readonly requestCert: boolean;
  readonly rejectUnauthorized: boolean;
}

/** Interval at which the files are checked for changes. */
const pollMs = 2_000;

async function read(name: string, file: string): Promise<Buffer> {
  try {
    return await readFile(file);
  } catch (cause) {
    throw new StatusError({
      code: 'InvalidArgument',
      reason: 'TlsUnreadable',
      message: `${name} ${file} can't be read: ${messageOf(cause)}; set it to an existing file that this process may read`,
      cause,
    });
  }
}

async function load({ certFile, keyFile, clientCaFile }: TlsFiles): Promise<TlsMaterial> {
  const [cert, key, clientCa] = await Promise.all([
    read('certFile', certFile),
    read('keyFile', keyFile),
    clientCaFile ? read('clientCaFile', clientCaFile) : undefined,
  ]);
  try {
    createSecureContext({ cert, key, ...(clientCa ? { ca: clientCa } : {}) });
  } catch (cause) {
    throw new StatusError({
      code: 'InvalidArgument',
      reason: 'TlsInvalid',
      message: `${certFile} and ${keyFile} can't be used as a certificate and its key: ${messageOf(cause)}; use a certificate and its private key, both in PEM, the key without a passphrase`,
      cause,
    });
  }
  return { cert, key, clientCa };
}

async function stamp(files: TlsFiles): Promise<string> {
  const names = [files.certFile, files.keyFile, files.clientCaFile ?? ''].filter((n) => n !== '');
  const stats = await Promise.all(names.map((name) => stat(name)));
  return stats.map((s) => `${s.ino}:${s.size}:${s.mtimeMs}`).join(' ');
}

/**
 * Certificates that follow their files: changed files are read again. Unusable files are logged, and the previous
 * certificates stay in use. The files are polled every 2 s, because certificates are often replaced through symbolic
 * links, which file watches miss.
 */
export class TlsSource {
  readonly #files: TlsFiles;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #stop = new AbortController();
  readonly #listeners = new Set<(material: TlsMaterial) => void>();
  #material: TlsMaterial;

  private constructor(files: TlsFiles, material: TlsMaterial, clock: Clock, logger: Logger) {
    this.#files = files;
    this.#material = material;
    this.#clock = clock;
    this.#logger = logger;
  }

  /** Reads the files and starts to follow them. @throws StatusError InvalidArgument that names the unusable files. */
  static async open(files: TlsFiles, clock: Clock, logger: Logger): Promise<TlsSource> {
    const seen = await stamp(files).catch(() => '');
    const source = new TlsSource(files, await load(files), clock, logger);
    void source.#follow(seen);
    return source;
  }

  get material(): TlsMaterial {
    return this.#material;
  }

  /** True if clients must present a certificate. */
  get mutual(): boolean {
    return this.#files.clientCaFile !== undefined && this.#files.clientCaFile !== '';
  }

  /** The material as options of a server. */
  get serverOptions(): ServerTls {
    const { cert, key, clientCa } = this.#material;
    const { mutual } = this;
    const ca = clientCa ? { ca: clientCa } : {};
    return { cert, key, ...ca, requestCert: mutual, rejectUnauthorized: mutual };
  }

  /** Updates the certificates of a server; open connections keep theirs. */
  follow(server: TlsServer): void {
    const listener = (): void => server.setSecureContext(this.serverOptions);
    this.onChange(listener);
    server.once('close', () => this.offChange(listener));
  }

  onChange(listener: (material: TlsMaterial) => void): void {
    this.#listeners.add(listener);
  }

  offChange(listener: (material: TlsMaterial) => void): void {
    this.#listeners.delete(listener);
  }

  close(): void {
    this.#stop.abort();
    this.#listeners.clear();
  }

  async #follow(first: string): Promise<void> {
    const { signal } = this.#stop;
    for (let seen = first; ; ) {
      await sleep(this.#clock, pollMs, signal, { background: true });
      if (signal.aborted) return;
      try {
        const now = await stamp(this.#files);
        if (now === seen) continue;
        this.#material = await load(this.#files);
        seen = now;
        for (const listener of this.#listeners) listener(this.#material);
        this.#logger.info('certificates were reloaded', { certFile: this.#files.certFile });
      } catch (error) {
        this.#logger.warn('changed certificates are not usable; the previous ones stay in use', {
          error: messageOf(error),
        });
      }
    }
  }
}
