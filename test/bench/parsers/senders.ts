import { Client, credentials, Metadata } from '@grpc/grpc-js';
import { descriptorSet } from '@kedge/api';
import { request } from 'node:http';
import { SchemaRegistry } from 'kedge/rpc';
import type { ValidatedApi } from '../../admission/validated-api.js';

/**
 * Sends a prepared input once. Resolves to the HTTP status or the gRPC code. 0 is success in gRPC, and an error of the
 * connection in HTTP.
 */
export type Read = () => Promise<number>;

const raw = (bytes: Buffer): Buffer => bytes;

/** Prepares requests to an API over both transports. A sent request also resolves when it was refused. */
export class Senders {
  readonly #api: ValidatedApi;
  readonly #schemas = new SchemaRegistry(descriptorSet);
  readonly #client: Client;
  readonly #metadata = new Metadata();

  constructor(api: ValidatedApi) {
    this.#api = api;
    this.#client = new Client(api.grpcAddress, credentials.createInsecure());
    this.#metadata.set('authorization', 'Bearer root');
  }

  /** Bytes as the message of a method: `/api.VolumeService/Create`. */
  unary(path: string, bytes: Buffer): Read {
    return () =>
      new Promise((resolve) => {
        this.#client.makeUnaryRequest(path, raw, raw, bytes, this.#metadata, (error) =>
          resolve(error?.code ?? 0),
        );
      });
  }

  /** @param type name of the request message without its package */
  grpc(method: string, type: string, message: object): Read {
    const bytes = this.#schemas.encode(this.#schemas.message(`api.${type}`), message as never);
    return this.unary(`/api.${method}`, Buffer.from(bytes));
  }

  rest(
    method: string,
    path: string,
    headers: Readonly<Record<string, string>> = {},
    body = '',
  ): Read {
    return () =>
      new Promise((resolve) => {
        const type = body === '' ? {} : { 'content-type': 'application/json' };
        const call = request(
          {
            port: this.#api.restPort,
            method,
            path,
            headers: { authorization: 'Bearer root', ...type, ...headers },
          },
          (answer) => answer.resume().on('end', () => resolve(answer.statusCode ?? 0)),
        );
        // The server may end the connection at an input that it refuses.
        call.on('error', () => resolve(0));
        call.end(body);
      });
  }

  close(): void {
    this.#client.close();
  }
}
