import { expect } from 'chai';
import { type JsonObject, textOf } from 'kedge/rpc';
import { eventually } from 'kedge/testing';
import { kedgeClient } from '@kedge/api/client';
import { finish, type SseEvent, TestDaemon, workload } from '../daemon.js';

const base = '/v1/namespaces/default';

describe('workloads through the API of a running daemon', function () {
  this.timeout(180_000);
  let daemon: TestDaemon;
  before(async () => {
    daemon = await TestDaemon.start();
  });
  after(() => daemon.dispose());

  const running = (name: string) =>
    eventually(`${name} Running`, async () => {
      const { body } = await daemon.rest('GET', `${base}/instances/${name}`);
      return body.status === 'Running' ? body : undefined;
    });
  const start = async (name: string, script: string, more: object = {}): Promise<void> => {
    const { volume, service } = workload(daemon, name, script);
    await daemon.ok('POST', `${base}/volumes`, volume);
    await daemon.ok('POST', `${base}/services`, { ...service, ...more });
    await running(`${name}-0`);
  };

  it('transitions become events with their reasons, and descriptions show them', async () => {
    await start('reported', 'sleep 600');
    const reasons = async (kind: string, name: string): Promise<string[]> => {
      const selector = encodeURIComponent(`regarding.kind=${kind},regarding.name=${name}`);
      const events = await daemon.list(`${base}/events?fieldSelector=${selector}`);
      return events.map((e) => String(e.reason));
    };
    await eventually('the events', async () => {
      const volume = await reasons('Volume', 'reported');
      const instance = await reasons('Instance', 'reported-0');
      return volume.includes('Bound') && instance.includes('Running');
    });
    expect(await reasons('Volume', 'reported')).to.include.members([
      'Provisioning',
      'Provisioned',
      'Bound',
    ]);
    const described = await daemon.ok('GET', `${base}/instances/reported-0:describe`);
    const events = described.events as { reason: string; lastSeenAt: string }[];
    expect(events.map((e) => e.reason)).to.include.members(['Scheduled', 'Mounted', 'Running']);
    const times = events.map((e) => e.lastSeenAt);
    expect(times).to.deep.equal([...times].sort().reverse());
    const [one] = await daemon.list(`${base}/events?limit=1`);
    const meta = one?.metadata as { expiresAt: string; createdAt: string };
    const hours = (Date.parse(meta.expiresAt) - Date.parse(meta.createdAt)) / 3_600_000;
    expect(hours).to.be.closeTo(24, 0.1);
    const shown = await daemon.cli('events', '--for', 'volume/reported');
    expect(shown.stdout).to.match(/Normal +Bound +Volume\/reported +bound to default\/reported-0/);
  });

  it('a failure is a warning with its reason and message', async () => {
    await daemon.ok('POST', '/v1/storageclasses', {
      name: 'elsewhere',
      driver: 'local-host',
      parameters: { hostPath: 'secret:none.default.svc/p' },
    });
    await daemon.ok('POST', `${base}/volumes`, {
      name: 'failing',
      size: '1Mi',
      accessMode: 'ReadWriteOnce',
      storageClassName: 'elsewhere',
    });
    const event = await eventually('the warning', async () => {
      const selector = encodeURIComponent('regarding.name=failing,type=Warning');
      return (await daemon.list(`${base}/events?fieldSelector=${selector}`))[0];
    });
    expect(event.reason).to.equal('InvalidParameters');
    expect(event.message).to.contain('secret default/none does not exist');
  });

  it('exec over REST: separate output and errors, the exit code last; an instance without a runtime is 412', async () => {
    await start('busy', 'echo up; sleep 600', { env: { COLOUR: 'blue' } });
    const response = await fetch(`http://${daemon.restAddress}${base}/exec/busy-0`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${daemon.token}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify({
        command: ['sh', '-c', 'echo "$COLOUR $KEDGE_INSTANCE"; ls /data; echo bad >&2; exit 9'],
      }),
    });
    const data = (await response.text())
      .split('\n')
      .filter((line) => line.startsWith('data: '))
      .map((line) => JSON.parse(line.slice(6)) as Record<string, string>);
    const text = (stream: string): string =>
      data.map((d) => Buffer.from(d[stream] ?? '', 'base64').toString()).join('');
    expect(text('stdout')).to.equal('blue busy-0\n');
    expect(text('stderr')).to.equal('bad\n');
    expect(data.at(-1)?.exit).to.deep.equal({ code: 9, signal: '' });
    const missing = await daemon.rest('POST', `${base}/exec/nothing-0`, { command: ['true'] });
    expect(missing.status).to.equal(404);
    const bad = await daemon.rest('POST', `${base}/exec/busy-0`, { command: [] });
    expect(bad.status).to.equal(400);
    await daemon.ok('POST', `${base}/services`, { name: 'image', image: 'busybox' });
    await eventually('the instance', async () => {
      return (await daemon.rest('GET', `${base}/instances/image-0`)).status === 200;
    });
    const container = await daemon.rest('POST', `${base}/exec/image-0`, { command: ['true'] });
    expect([container.status, container.body.reason]).to.deep.equal([412, 'RuntimeUnavailable']);
    expect(container.body.message).to.match(/the container engine's socket .* does not exist/);
    const log = await daemon.cli('logs', 'image-0');
    expect(log.stderr).to.match(/log of "default\/image-0" can't be read: .* does not exist/);
  });

  it('kedge exec allocates a terminal on request, and ends with the exit code of the command', async () => {
    const plain = await daemon.cli('exec', 'busy-0', '--', 'sh', '-c', 'echo out; exit 4');
    expect([plain.code, plain.stdout]).to.deep.equal([4, 'out\n']);
    const terminal = await daemon.cli('exec', '-t', 'busy-0', '--', 'sh', '-c', 'tty; stty size');
    expect(terminal.stdout).to.match(/^\/dev\/pts\/\d+\r\n24 80\r\n$/);
    const signalled = await daemon.cli('exec', 'busy-0', '--', 'sh', '-c', 'kill -TERM $$');
    expect(signalled.code).to.equal(143);
  });

  it('the bidirectional stream carries input, sizes of the terminal and signals', async () => {
    using client = kedgeClient({ server: daemon.grpcAddress, token: daemon.token });
    const { signal } = new AbortController();
    const talk = async (
      start: JsonObject,
      ...steps: readonly (readonly [until: string, then: readonly JsonObject[]])[]
    ) => {
      const waiting: JsonObject[] = [{ start: { namespace: 'default', name: 'busy-0', ...start } }];
      let wake: () => void = () => undefined;
      let over = false;
      const requests = (async function* () {
        while (!over) {
          const next = waiting.shift();
          if (next) yield next;
          else await new Promise<void>((resolve) => (wake = resolve));
        }
      })();
      let text = '';
      let exit: unknown;
      const left = [...steps];
      for await (const answer of client.api.duplex('ExecService.Exec', requests, signal)) {
        text += Buffer.from(textOf(answer, 'stdout'), 'base64').toString();
        exit = answer.exit ?? exit;
        while (left[0] && text.includes(left[0][0])) {
          waiting.push(...left[0][1]);
          left.shift();
          wake();
        }
      }
      over = true;
      wake();
      return { text, exit };
    };
    const stdin = (line: string) => ({ stdin: Buffer.from(line).toString('base64') });
    const shell = await talk(
      { command: ['sh', '-c', 'stty -echo; echo ready; exec sh'], tty: true },
      ['ready', [stdin('stty size\n')]],
      ['24 80', [{ resize: { columns: 101, rows: 41 } }, stdin('stty size\n')]],
      ['41 101', [stdin('exit 6\n')]],
    );
    expect(shell.exit).to.deep.include({ code: 6 });
    const script = 'trap "echo caught; exit 5" INT; echo ready; while :; do sleep 0.1; done';
    const trapped = await talk({ command: ['sh', '-c', script] }, [
      'ready',
      [{ signal: 'SIGINT' }],
    ]);
    expect(trapped.text).to.contain('caught');
    expect(trapped.exit).to.deep.include({ code: 5 });
    const cat = await talk({ command: ['sh', '-c', 'echo ready; cat'] }, [
      'ready',
      [stdin('one '), stdin('two'), { stdinClosed: true }],
    ]);
    expect(cat.text).to.equal('ready\none two');
    const wrong = await talk({ command: ['sh', '-c', 'echo ready; sleep 60'] }, [
      'ready',
      [{ signal: 'SIGNONE' }],
    ]).catch((error: unknown) => error);
    expect(String(wrong)).to.contain('SIGNONE');
  });

  it('a command ends with its client', async () => {
    const stop = new AbortController();
    const asked = fetch(`http://${daemon.restAddress}${base}/exec/busy-0`, {
      method: 'POST',
      signal: stop.signal,
      headers: {
        authorization: `Bearer ${daemon.token}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify({ command: ['sh', '-c', 'echo $$; exec sleep 4242'] }),
    });
    const reader = (await asked).body!.getReader();
    let text = '';
    while (!text.includes('stdout')) text += Buffer.from((await reader.read()).value).toString();
    const runs = async (): Promise<boolean> => {
      const found = await daemon.cli('exec', 'busy-0', '--', 'pgrep', '-f', 'sleep 424[2]');
      return found.code === 0;
    };
    expect(await runs()).to.equal(true);
    stop.abort();
    await eventually('the command to end', async () => !(await runs()));
  });

  it('a command ends with its workload, and with the daemon', async () => {
    await start('held', 'sleep 600');
    const begin = async (seconds: number): Promise<void> => {
      const stop = new AbortController();
      const response = await fetch(`http://${daemon.restAddress}${base}/exec/held-0`, {
        method: 'POST',
        signal: stop.signal,
        headers: {
          authorization: `Bearer ${daemon.token}`,
          'content-type': 'application/json',
        },
        body: JSON.stringify({ command: ['sh', '-c', `echo up; exec sleep ${seconds}`] }),
      });
      const reader = response.body!.getReader();
      let text = '';
      while (!text.includes('stdout')) text += Buffer.from((await reader.read()).value).toString();
    };
    const runs = async (seconds: number): Promise<boolean> =>
      (await finish('pgrep', ['-xf', `sleep ${seconds}`])).code === 0;
    // Other suites on the machine may run the same command.
    const [first, second] = [1_000_000 + process.pid, 6_000_000 + process.pid];
    await begin(first);
    // The shell becomes the command after its first output.
    await eventually('the command', () => runs(first));
    const uidOf = (body: Record<string, unknown>) => (body.metadata as { uid: string }).uid;
    const before = uidOf(await daemon.ok('POST', `${base}/instances/held-0:restart`, {}));
    await eventually('the command to end', async () => !(await runs(first)));
    await eventually('the next instance', async () => {
      const { status, body } = await daemon.rest('GET', `${base}/instances/held-0`);
      return status === 200 && uidOf(body) !== before && body.status === 'Running';
    });
    await begin(second);
    await eventually('the command', () => runs(second));
    await daemon.crash();
    await eventually('the command to end', async () => !(await runs(second)));
    await running('held-0');
  });

  it('health reports a service and each instance', async () => {
    const health = await daemon.ok('GET', `${base}/health/busy`);
    expect(health).to.include({ kind: 'Service', state: 'Healthy', ready: 1, wanted: 1 });
    const one = await daemon.ok('GET', `${base}/health/busy-0`);
    expect(one).to.include({ kind: 'Instance', state: 'Healthy' });
    const all = await daemon.list(`${base}/health`);
    const image = all.find((h) => h.name === 'image');
    expect(image?.state).to.equal('Unhealthy');
    expect(image?.message).to.equal('0 of 1 instances are healthy');
    expect((await daemon.rest('GET', `${base}/health/none`)).status).to.equal(404);
  });

  it('restart recreates the instances of a service, or a single one', async () => {
    const uid = async (): Promise<string> =>
      ((await running('reported-0')).metadata as { uid: string }).uid;
    for (const path of ['services/reported:restart', 'instances/reported-0:restart']) {
      const before = await uid();
      await daemon.ok('POST', `${base}/${path}`, {});
      await eventually('another instance', async () => {
        const { body } = await daemon.rest('GET', `${base}/instances/reported-0`);
        return (body.metadata as { uid?: string } | undefined)?.uid !== before;
      });
    }
    const { service } = workload(daemon, 'reported', 'sleep 600');
    const before = await uid();
    // A client that does not know the restart field writes it back unchanged, which restarts nothing.
    await daemon.ok('PUT', `${base}/services/reported`, service);
    expect(await uid()).to.equal(before);
  });

  it('configmaps have versions, and provide environments; a missing one is awaited', async () => {
    await daemon.ok('POST', `${base}/services`, {
      name: 'env',
      runtime: 'process',
      command: ['sh', '-c', 'echo "$P_MODE"; sleep 600'],
      envFrom: [{ configmap: 'settings', prefix: 'P_' }],
      terminationGracePeriodSeconds: 0,
    });
    await eventually('the reason', async () => {
      const { body } = await daemon.rest('GET', `${base}/instances/env-0`);
      return JSON.stringify(body.conditions ?? []).includes('configmap default/settings');
    });
    const made = await daemon.ok('POST', `${base}/configmaps`, {
      name: 'settings',
      data: { MODE: 'fast' },
    });
    expect(made.version).to.equal(1);
    await running('env-0');
    const put = (data: object) =>
      daemon.ok('PUT', `${base}/configmaps/settings`, { name: 'settings', data });
    expect((await put({ MODE: 'fast' })).version).to.equal(1);
    expect((await put({ MODE: 'slow' })).version).to.equal(2);
    const bad = await daemon.rest('POST', `${base}/configmaps`, {
      name: 'bad',
      data: { 'a b': 'x', ok: 'y'.repeat(1_048_577) },
    });
    expect(bad.status).to.equal(400);
    expect(String(bad.body.message)).to.contain('data.a b').and.contain('1048576');
    const both = await daemon.rest('POST', `${base}/services`, {
      name: 'both',
      image: 'x',
      envFrom: [{ configmap: 'a', secret: 'b' }],
    });
    expect(String(both.body.message)).to.contain('envFrom[0]');
  });

  it('logs over server-sent events resume after the last received line', async () => {
    await start('lines', 'for i in 1 2 3 4 5; do echo line $i; done; sleep 600');
    const contents = (events: readonly SseEvent[]): unknown[] => events.map((e) => e.data.content);
    const path = `${base}/logs/lines-0?follow=true`;
    const first = await daemon.events(path, undefined, (e) => e.length >= 2);
    expect(contents(first).slice(0, 2)).to.deep.equal(['line 1', 'line 2']);
    const again = await daemon.events(path, first[1]?.id, (e) => e.length >= 3);
    expect(contents(again)).to.deep.equal(['line 3', 'line 4', 'line 5']);
    const recent = await daemon.cli('logs', 'lines-0', '--since', '5m');
    expect(recent.stdout.split('\n').length).to.equal(6);
    expect((await daemon.rest('GET', `${base}/logs/lines-0?since=soon`)).status).to.equal(400);
    const none = await daemon.rest('GET', `${base}/logs/lines-0?after=nonsense`);
    expect(none.status).to.equal(400);
  });

  it('64 workloads that ignore SIGTERM delay no other, and one is killed after its grace period', async () => {
    const service = (name: string, scale: number, graceSeconds: number) =>
      daemon.ok('POST', `${base}/services`, {
        name,
        runtime: 'process',
        scale,
        terminationGracePeriodSeconds: graceSeconds,
        command: ['/bin/sh', '-c', 'trap "" TERM; while :; do sleep 60; done'],
      });
    const of = async (name: string) =>
      (await daemon.list(`${base}/instances`)).filter((i) => i.service === name);
    const run = (name: string, count: number) =>
      eventually(
        `${count} of ${name}`,
        async () => (await of(name)).filter((i) => i.status === 'Running').length === count,
        120_000,
      );
    // Their duration exceeds the test, so waiting for one of them would fail.
    await service('deaf', 64, 3_600);
    await service('brief', 1, 1);
    await run('deaf', 64);
    await run('brief', 1);
    await daemon.ok('DELETE', `${base}/services/deaf`);
    await start('beside', 'sleep 600');
    await daemon.ok('DELETE', `${base}/services/brief`);
    await eventually('its end', async () => (await of('brief')).length === 0);
    const asked = await of('deaf');
    expect(asked).to.have.length(64);
    for (const { pid } of asked) process.kill(Number(pid), 'SIGKILL');
    await eventually('their end', async () => (await of('deaf')).length === 0, 120_000);
  }).timeout(600_000);
});
