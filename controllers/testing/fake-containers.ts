import type { ServerResponse } from 'node:http';
import { type FakeEngine, json } from './fake-engine.js';

/** A container of {@link FakeContainers}. */
interface FakeContainer {
  /** The body of the call that created it. */
  readonly config: { readonly Labels: Readonly<Record<string, string>> };
  /** Its `State` in the form of the Engine API. */
  state: Readonly<Record<string, unknown>> & { readonly Status: string };
}

/**
 * Containers of a fake engine with live-restore that knows every image. They end only by {@link end} and by a DELETE
 * call: signals are counted as sent.
 */
export class FakeContainers {
  /** By name, which is their id too. */
  readonly byName = new Map<string, FakeContainer>();
  /** Names of the signals that were sent. */
  readonly signals: string[] = [];
  /** The stream of events without an end; undefined until it is read. */
  watching: ServerResponse | undefined;

  /** Answers the calls to an engine. The engine has no events of the past. */
  constructor(engine: FakeEngine) {
    engine.answer = (request, response) => {
      const url = new URL(request.url ?? '', 'http://engine');
      const body: Buffer[] = [];
      request.on('data', (chunk: Buffer) => body.push(chunk));
      request.on('end', () => this.#answer(request.method ?? '', url, body, response));
    };
  }

  #answer(method: string, url: URL, body: readonly Buffer[], response: ServerResponse): void {
    const [, , kind = '', key = '', verb = ''] = url.pathname.split('/');
    if (kind === 'info') return json(response, 200, { LiveRestoreEnabled: true });
    if (kind === 'images') return json(response, 200, { Id: 'sha256:1', RepoDigests: [] });
    if (kind === 'events') {
      if (url.searchParams.has('until')) return void response.writeHead(200).end();
      this.watching = response;
      return response.writeHead(200).flushHeaders();
    }
    if (key === 'json')
      return json(
        response,
        200,
        [...this.byName].map(([Id, { config, state }]) => ({
          ...{ Id, Names: [`/${Id}`], Labels: config.Labels, State: state.Status },
        })),
      );
    if (key === 'create') {
      const name = url.searchParams.get('name') ?? '';
      const config = JSON.parse(String(Buffer.concat(body))) as FakeContainer['config'];
      this.byName.set(name, { config, state: { Status: 'created' } });
      return json(response, 201, { Id: name });
    }
    const found = this.byName.get(key);
    if (!found) return json(response, 404, { message: 'no such container' });
    if (method === 'DELETE') this.byName.delete(key);
    else if (verb === 'start')
      found.state = { Status: 'running', Pid: 1, StartedAt: new Date().toISOString() };
    else if (verb === 'kill') this.signals.push(url.searchParams.get('signal') ?? '');
    else
      return json(response, 200, {
        ...{ Id: key, Name: `/${key}`, Created: '2026-01-01T00:00:00Z', Image: 'sha256:1' },
        ...{ Config: found.config, HostConfig: { Memory: 2 ** 25, RestartPolicy: {} } },
        State: { ExitCode: 0, Error: '', ...found.state },
      });
    response.writeHead(204).end();
  }

  /** Ends the container that was created last, and returns its id. */
  end(exitCode: number): string {
    const [name = ''] = [...this.byName.keys()].slice(-1);
    const found = this.byName.get(name);
    const ended = { Status: 'exited', ExitCode: exitCode, FinishedAt: new Date().toISOString() };
    if (found) found.state = { ...found.state, ...ended };
    return name;
  }

  /** Sends an event of a container to the reader of the stream. */
  report(action: string, container: string, atMs?: number): void {
    const actor = { ID: container, Attributes: this.byName.get(container)?.config.Labels };
    const time = atMs === undefined ? {} : { timeNano: atMs * 1e6 };
    const event = { Type: 'container', Action: action, Actor: actor, ...time };
    this.watching?.write(`${JSON.stringify(event)}\n`);
  }
}
