import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { OperationKind } from '@kedge/driver-sdk';
import { type Engine, type Pace, Refusal } from './engine.js';
import type { Faults, FaultRule, Point, Release, Verdict } from './faults.js';
import type { Order } from './state.js';

/** A request in the form for the routes. */
interface Asked {
  readonly method: string;
  readonly parts: readonly string[];
  readonly query: URLSearchParams;
  readonly key: string;
  readonly body: unknown;
}

/** The connection is closed instead of an answer. */
class Dropped extends Error {}

/** The request is refused for now. */
class Throttled extends Error {
  readonly seconds: number;

  constructor(seconds: number) {
    super('too many requests');
    this.seconds = seconds;
  }
}

async function bodyOf(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString();
  return text === '' ? {} : JSON.parse(text);
}

/** The provider's HTTP interface, with the commands of a test below /control. */
export class ProviderServer {
  readonly #engine: Engine;
  readonly #faults: Faults;
  readonly #instances: Readonly<Record<string, string>>;
  readonly server: Server;

  constructor(engine: Engine, faults: Faults, instances: Readonly<Record<string, string>>) {
    this.#engine = engine;
    this.#faults = faults;
    this.#instances = instances;
    this.server = createServer((request, response) => void this.#serve(request, response));
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const answer = (status: number, body: unknown, headers: Record<string, string> = {}): void => {
      response.writeHead(status, { 'content-type': 'application/json', ...headers });
      response.end(JSON.stringify(body));
    };
    try {
      const url = new URL(request.url ?? '/', 'http://provider');
      const asked: Asked = {
        method: request.method ?? 'GET',
        parts: url.pathname.split('/').slice(1),
        query: url.searchParams,
        key: String(request.headers['idempotency-key'] ?? ''),
        body: await bodyOf(request),
      };
      const [area = '', ...rest] = asked.parts;
      if (area === 'control') answer(200, (await this.#control(asked, rest)) ?? {});
      else answer(200, (await this.#call(asked)) ?? {});
    } catch (error) {
      if (error instanceof Dropped) request.socket.destroy();
      else if (error instanceof Refusal)
        answer(error.status, { code: error.code, message: error.message });
      else if (error instanceof Throttled)
        answer(
          429,
          { code: 'throttled', message: error.message },
          { 'retry-after': String(error.seconds) },
        );
      else answer(500, { code: 'internal', message: String(error) });
    }
  }

  async #meet(point: Point, kind: OperationKind): Promise<void> {
    const verdict: Verdict = await this.#faults.meet(point, kind);
    switch (verdict.type) {
      case 'goOn':
        return;
      case 'drop':
        throw new Dropped();
      case 'deny':
        throw new Refusal(403, 'forbidden', 'the token lacks the right operations:read');
      case 'throttle':
        throw new Throttled(verdict.retryAfterSeconds);
    }
  }

  async #call({ method, parts, query, key, body }: Asked): Promise<unknown> {
    const engine = this.#engine;
    const [area = '', id = ''] = parts;
    const uid = query.get('uid') ?? '';
    switch (`${method} ${area}`) {
      case 'POST operations': {
        const order = body as Order;
        await this.#meet('arrived', order.kind);
        const { id: begun } = await engine.begin(key, order);
        await this.#meet('accepted', order.kind);
        return { id: begun };
      }
      case 'GET operations': {
        const all = Object.values(engine.state.operations).filter((one) => !one.isForgotten);
        const found = all.find((one) => (id === '' ? one.key === query.get('key') : one.id === id));
        if (!found) throw new Refusal(404, 'not_found', `there is no operation ${id}`);
        await this.#meet('polled', found.order.kind);
        return { id: found.id, state: engine.state.operations[found.id]?.state };
      }
      case 'GET disks':
        await this.#meetRead(uid);
        return { items: engine.disksOf(uid) };
      case 'GET snapshots':
        await this.#meetRead(uid);
        return { items: engine.snapshotsOf(uid) };
      case 'GET instances': {
        const found = this.#instances[query.get('name') ?? ''];
        return { items: found === undefined ? [] : [found] };
      }
      case 'POST answered':
        return this.#meet('answered', (body as { readonly kind: OperationKind }).kind);
      default:
        throw new Refusal(404, 'not_found', `there is no ${method} /${parts.join('/')}`);
    }
  }

  /** Applies the rules of a read of the result, if the last operation about this uid has ended. */
  async #meetRead(uid: string): Promise<void> {
    const last = Object.values(this.#engine.state.operations)
      .filter(({ order }) => order.uid === uid)
      .at(-1);
    if (last?.state === 'ended') await this.#meet('read', last.order.kind);
  }

  async #control({ method, body }: Asked, parts: readonly string[]): Promise<unknown> {
    const [what = '', id = '', verb = ''] = parts;
    const engine = this.#engine;
    switch (`${method} ${what} ${verb}`) {
      case 'POST rules ':
        return { rule: this.#faults.arm(body as FaultRule) };
      case 'DELETE rules ':
        return this.#faults.clear();
      case 'GET rules reached':
        return this.#faults.reached(Number(id));
      case 'POST rules release':
        return this.#faults.release(Number(id), (body as { readonly how: Release }).how);
      case 'POST pace ':
        engine.pace = body as Pace;
        return undefined;
      case 'POST end ':
        return engine.endAll((body as { readonly outcome: 'ended' | 'failed' }).outcome);
      case 'POST forget ':
        return engine.forget();
      case 'GET state ':
        return engine.state;
      default:
        throw new Refusal(404, 'not_found', `there is no ${method} /control/${parts.join('/')}`);
    }
  }
}
