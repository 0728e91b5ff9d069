import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type HealthCheck, messageOf } from 'kedge';

/** `/livez`, `/readyz` and `/metrics` on a separate port, because the API ports require a token. */
export class OpsServer {
  readonly #server: Server;

  constructor(health: () => readonly HealthCheck[], metrics: () => Promise<string>) {
    this.#server = createServer((request, response) => {
      if (request.url === '/livez') {
        response.end('ok\n');
        return;
      }
      if (request.url === '/metrics') {
        metrics().then(
          (text) => response.setHeader('content-type', 'text/plain; version=0.0.4').end(text),
          (error: unknown) => response.writeHead(500).end(`${messageOf(error)}\n`),
        );
        return;
      }
      if (request.url !== '/readyz') {
        response.writeHead(404).end('paths: /livez /readyz /metrics\n');
        return;
      }
      const checks = health();
      const unhealthy = checks.filter((check) => !check.healthy);
      const lines = checks.map((c) => `${c.healthy ? 'ok ' : 'SICK'} ${c.name}: ${c.message}\n`);
      response.writeHead(unhealthy.length === 0 ? 200 : 503).end(lines.join(''));
    });
  }

  listen(host: string, port: number): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(port, host, () => resolve((this.#server.address() as AddressInfo).port));
    });
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => {
      this.#server.close(resolve);
    });
  }
}
