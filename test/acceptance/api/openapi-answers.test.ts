import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { expect } from 'chai';
import { eventually } from 'kedge/testing';
import { TestDaemon, workload } from '../daemon.js';

interface Schema {
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly enum?: readonly string[];
  readonly contentSchema?: Schema;
}
interface Operation {
  readonly operationId: string;
  readonly summary?: string;
  readonly responses: Readonly<
    Record<string, { readonly content: Readonly<Record<string, { readonly schema: Schema }>> }>
  >;
}
interface Document {
  readonly servers: readonly { readonly url: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}
/** The fields of one server-sent event. */
type StreamEvent = Readonly<Record<string, string>>;

const base = '/v1/namespaces/default';
const json = 'application/json';
const problem = 'application/problem+json';
const eventStream = 'text/event-stream';
const jsonLines = 'application/x-ndjson';

describe('responses of a daemon, compared with its OpenAPI document', function () {
  this.timeout(300_000);
  let daemon: TestDaemon;
  let document: Document;
  const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true });
  const validators = new Map<Schema, ValidateFunction>();

  before(async () => {
    daemon = await TestDaemon.start();
    document = (await daemon.ok('GET', '/v1/openapi.json')) as unknown as Document;
    ajv.addSchema({ ...document, $id: 'api' });
    const { volume, service } = workload(daemon, 'printer', 'echo one; echo two; sleep 600');
    await daemon.ok('POST', `${base}/volumes`, volume);
    await daemon.ok('POST', `${base}/services`, service);
    await eventually('the instance', async () => {
      const { body } = await daemon.rest('GET', `${base}/instances/printer-0`);
      return body.status === 'Running';
    });
  });
  after(() => daemon.dispose());

  const operationOf = (method: string, path: string): Operation => {
    const operation = document.paths[path]?.[method.toLowerCase()];
    if (!operation) throw new Error(`${method} ${path} is not in the document`);
    return operation;
  };
  const schemaOf = (operation: Operation, answer: string, type: string): Schema => {
    const schema = operation.responses[answer]?.content[type]?.schema;
    if (!schema) throw new Error(`${operation.operationId}: no ${type} for ${answer}`);
    return schema;
  };
  function validatorOf(schema: Schema): ValidateFunction {
    const known = validators.get(schema);
    if (known) return known;
    // References stay within the document.
    const text = JSON.stringify(schema).replaceAll('"#/', '"api#/');
    const made = ajv.compile(JSON.parse(text) as object);
    validators.set(schema, made);
    return made;
  }
  /** Asserts that a value matches the schema, and that the schema rejects other values. */
  function assertValid(schema: Schema, value: unknown, label: string): void {
    const validate = validatorOf(schema);
    expect(validate({ colour: 'red' }), `${label}: anything fits`).to.equal(false);
    const fits = validate(value);
    const context = `${label}: ${JSON.stringify(value)}: ${JSON.stringify(validate.errors)}`;
    expect(fits, context).to.equal(true);
  }
  function ask(path: string, init: RequestInit = {}): Promise<Response> {
    const headers = { authorization: `Bearer ${daemon.token}`, ...init.headers };
    return fetch(`http://${daemon.restAddress}${path}`, { ...init, headers });
  }

  /** The events of a stream until `enough` of them arrived, or until it ends. */
  async function eventsOf(
    response: Response,
    enough: (events: readonly StreamEvent[]) => boolean,
  ): Promise<readonly StreamEvent[]> {
    expect(response.headers.get('content-type')).to.equal(eventStream);
    const events: StreamEvent[] = [];
    let rest = '';
    const decoder = new TextDecoder();
    for await (const bytes of response.body!) {
      const parts = (rest + decoder.decode(bytes as Uint8Array, { stream: true })).split('\n\n');
      rest = parts.pop() ?? '';
      for (const part of parts) {
        const fields = part.split('\n').filter((line) => !line.startsWith(':'));
        if (fields.length === 0) continue;
        events.push(
          Object.fromEntries(
            fields.map((line) => {
              const at = line.indexOf(': ');
              return [line.slice(0, at), line.slice(at + 2)];
            }),
          ),
        );
      }
      if (enough(events)) break;
    }
    return events;
  }
  /** Asserts that the fields of each event and the document in its data match the schema. */
  function requireEvents(schema: Schema, events: readonly StreamEvent[], label: string): void {
    assertValid(schema, events, label);
    for (const event of events) {
      const kinds = (schema.items?.anyOf ?? []).filter(({ properties }) =>
        event.event === undefined
          ? !properties?.event
          : properties?.event?.enum?.includes(event.event),
      );
      expect(kinds, `${label}: ${JSON.stringify(event)}`).to.have.length(1);
      const data = kinds[0]?.properties?.data?.contentSchema;
      if (!data) throw new Error(`${label}: the data is not described`);
      assertValid(data, JSON.parse(event.data ?? ''), label);
    }
  }

  it('each operation has a summary, and the server of the document is the called one', () => {
    const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods));
    const summaries = operations.map(({ summary }) => summary ?? '');
    for (const [at, { operationId }] of operations.entries())
      expect(summaries[at], operationId).to.match(/^[A-Z].{3,119}[^.]$/);
    expect(operationOf('GET', '/v1/namespaces').summary).to.equal('List Namespace objects');
    const urls = document.servers.map(({ url }) =>
      String(new URL(url, `http://${daemon.restAddress}/v1/openapi.json`)),
    );
    expect(urls).to.deep.equal([`http://${daemon.restAddress}/`]);
  });

  it('each refusal has the documented members, as JSON and as a problem', async () => {
    const one = '/v1/namespaces/{namespace}/volumes/{name}';
    const all = '/v1/namespaces/{namespace}/volumes';
    const text = { 'content-type': json };
    const cases: readonly (readonly [number, string, string, string, RequestInit])[] = [
      [400, 'POST', all, `${base}/volumes`, { headers: text, body: '{"size":"x","colour":1}' }],
      [400, 'POST', all, `${base}/volumes`, { headers: text, body: '{' }],
      [401, 'GET', one, `${base}/volumes/printer`, { headers: { authorization: 'Bearer wrong' } }],
      [403, 'GET', one, `${base}/volumes/printer`, {}],
      [404, 'GET', one, `${base}/volumes/none`, {}],
      [
        409,
        'POST',
        '/v1/namespaces',
        '/v1/namespaces',
        { headers: text, body: '{"name":"default"}' },
      ],
      [412, 'POST', `${one}:reuse`, `${base}/volumes/printer:reuse`, { headers: text, body: '{}' }],
    ];
    await daemon.ok('POST', '/v1/admin/users', { name: 'nothing', policies: [] });
    const { token } = await daemon.ok('POST', '/v1/auth/tokens', { subject: 'nothing' });
    for (const [status, method, path, at, init] of cases)
      for (const accept of [json, problem]) {
        const label = `${method} ${at} as ${accept}`;
        const stranger = status === 403 ? { authorization: `Bearer ${String(token)}` } : {};
        const headers = { ...(init.headers as Record<string, string>), ...stranger, accept };
        const response = await ask(at, { ...init, method, headers });
        expect(response.status, label).to.equal(status);
        expect(response.headers.get('content-type')?.split(';')[0]).to.equal(accept);
        const body = (await response.json()) as Record<string, unknown>;
        assertValid(schemaOf(operationOf(method, path), 'default', accept), body, label);
        if (accept === problem) expect(body.status, label).to.equal(status);
      }
  });

  it('each watch sends the documented events: the state, a change, a bookmark, a failure', async () => {
    const watches = Object.entries(document.paths).flatMap(([path, { get }]) =>
      get?.responses['200']?.content[eventStream] && get.responses['200'].content[json]
        ? [{ path, operation: get }]
        : [],
    );
    expect(watches.length).to.be.at.least(10);
    for (const { path, operation } of watches) {
      const at = path.replace('{namespace}', 'default');
      const stop = new AbortController();
      const response = await ask(`${at}?watch=true`, { signal: stop.signal });
      const events = await eventsOf(response, (seen) =>
        seen.some(({ event }) => event === 'BOOKMARK'),
      );
      stop.abort();
      requireEvents(schemaOf(operation, '200', eventStream), events, path);
    }
    const schema = schemaOf(
      operationOf('GET', '/v1/namespaces/{namespace}/configmaps'),
      '200',
      eventStream,
    );
    const account = { name: 'leaving', policies: ['readonly'] };
    await daemon.ok('POST', '/v1/admin/users', account);
    const { token } = await daemon.ok('POST', '/v1/auth/tokens', { subject: 'leaving' });
    const headers = { authorization: `Bearer ${String(token)}` };
    const response = await ask(`${base}/configmaps?watch=true`, { headers });
    let changed = false;
    const events = await eventsOf(response, (seen) => {
      const last = seen.at(-1)?.event;
      if (last === 'BOOKMARK' && !changed) {
        changed = true;
        void daemon.ok('POST', `${base}/configmaps`, { name: 'seen', data: { k: 'v' } });
      }
      if (last === 'ADDED' && seen.at(-1)?.data?.includes('"seen"'))
        void daemon.ok('DELETE', '/v1/admin/users/leaving');
      return last === 'ERROR';
    });
    expect(events.map(({ event }) => event)).to.include.members(['BOOKMARK', 'ADDED', 'ERROR']);
    requireEvents(schema, events, 'configmaps');
  });

  it('logs, commands and backups stream the documented events', async () => {
    const logs = operationOf('GET', '/v1/namespaces/{namespace}/logs/{name}');
    const lines = await eventually('two lines', async () => {
      const response = await ask(`${base}/logs/printer-0`);
      expect(response.headers.get('content-type')).to.equal(jsonLines);
      const received = (await response.text()).split('\n').filter((line) => line !== '');
      return received.length >= 2 ? received : undefined;
    });
    assertValid(
      schemaOf(logs, '200', jsonLines),
      lines.map((line) => JSON.parse(line) as unknown),
      'lines',
    );
    const stop = new AbortController();
    const followed = await ask(`${base}/logs/printer-0?follow=true`, { signal: stop.signal });
    const events = await eventsOf(followed, (seen) => seen.length >= 2);
    stop.abort();
    requireEvents(schemaOf(logs, '200', eventStream), events, 'followed logs');
    const posts: readonly (readonly [string, string, object])[] = [
      [
        '/v1/namespaces/{namespace}/exec/{name}',
        `${base}/exec/printer-0`,
        { command: ['echo', 'hello'] },
      ],
      ['/v1/admin/backups', '/v1/admin/backups', {}],
    ];
    for (const [path, at, body] of posts) {
      const operation = operationOf('POST', path);
      const headers = { 'content-type': json };
      const response = await ask(at, { method: 'POST', headers, body: JSON.stringify(body) });
      const answered = await eventsOf(response, () => false);
      expect(answered, path).to.not.be.empty;
      requireEvents(schemaOf(operation, '200', eventStream), answered, path);
    }
  });
});
