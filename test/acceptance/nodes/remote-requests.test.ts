import { type ChildProcess, spawn } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { eventually } from 'kedge/testing';
import { kedgeClient } from '@kedge/api/client';
import { AgentProcess, freePort } from './agent-process.js';
import { root, TestDaemon } from '../daemon.js';

const base = '/v1/namespaces/default';
const node = 'far-node';

/** The text of a file of a process; empty if it ended. */
function procText(pid: number | string, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return '';
  }
}
const isZombie = (pid: number): boolean => /^State:\s+Z/m.test(procText(pid, 'status'));
/** The processes, other than kedge's, whose command line ends with these words. */
function pidsWith(words: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      const line = procText(pid, 'cmdline').replaceAll('\0', ' ').trim();
      return line.endsWith(words) && !line.includes('kedge.mjs');
    })
    .map(Number);
}

describe('commands and output of a node whose agent is another process', function () {
  this.timeout(300_000);
  let daemon: TestDaemon;
  let agent: AgentProcess;
  let address: string;
  let token: string;

  before(async () => {
    address = `127.0.0.1:${await freePort()}`;
    daemon = await TestDaemon.start({
      arguments: ['--grpc-address', address],
      environment: {
        KEDGE_CONTROLLERS_HEARTBEAT_MS: '1000',
        KEDGE_CONTROLLERS_NODE_SILENT_MS: '60000',
      },
    });
    token = await tokenOf('far', node);
    agent = new AgentProcess({
      ...{ server: address, token, node, directory: join(daemon.home, 'far') },
      ...{ hostPathAllowlist: [], heartbeatMs: 500 },
    });
    await agent.run();
    const command = ['/bin/sh', '-c', 'n=0; while :; do n=$((n+1)); echo line $n; sleep 0.1; done'];
    await daemon.ok('POST', `${base}/services`, {
      ...{ name: 'web', runtime: 'process', command, terminationGracePeriodSeconds: 0 },
      nodeSelector: { 'svc.io/node': node },
    });
    await eventually(
      'web to run',
      async () => (await daemon.rest('GET', `${base}/instances/web-0`)).body.status === 'Running',
      90_000,
    );
    expect((await daemon.ok('GET', `${base}/instances/web-0`)).node).to.equal(node);
  });
  beforeEach(async () => {
    if (!agent.isAlive) await agent.run();
  });
  after(async () => {
    await agent?.end('SIGTERM');
    await daemon?.dispose();
  });

  /** A token of an account of a node. */
  async function tokenOf(account: string, of: string): Promise<string> {
    const rights = { kind: 'serviceAccount', policies: ['node'], node: of };
    await daemon.ok('POST', '/v1/admin/users', { name: account, ...rights });
    return String((await daemon.ok('POST', '/v1/auth/tokens', { subject: account })).token);
  }

  const web = () => daemon.ok('GET', `${base}/instances/web-0`);
  /** A kedge that runs, its output so far and its end. */
  function started(...args: readonly string[]) {
    const child = spawn(process.execPath, [join(root, 'cmd/bin/kedge.mjs'), ...args], {
      env: { ...process.env, ...daemon.cliEnvironment },
    });
    let stdout = '';
    let stderr = '';
    child.stdout.on('data', (data) => (stdout += String(data)));
    child.stderr.on('data', (data) => (stderr += String(data)));
    children.push(child);
    const ended = once(child, 'close') as Promise<[number | null]>;
    return { child, ended, stdout: () => stdout, stderr: () => stderr };
  }
  const children: ChildProcess[] = [];
  afterEach(() => {
    for (const child of children.splice(0)) child.kill('SIGKILL');
  });
  const isAlive = (pid: number): boolean => {
    try {
      return process.kill(pid, 0) && !isZombie(pid);
    } catch {
      return false;
    }
  };
  /** A command that waits for `last`, and its process. */
  async function waiting(
    last = 'cat',
  ): Promise<ReturnType<typeof started> & { readonly pid: number }> {
    const script = `: wait-${randomUUID()}; echo up; ${last}`;
    const run = started('exec', '-i', 'web-0', '--', 'sh', '-c', script);
    await eventually('the command', () => run.stdout().includes('up'), 30_000);
    const pid = pidsWith(script).at(-1);
    if (pid === undefined) throw new Error('the command has no process');
    return { ...run, pid };
  }
  /** The numbers of the lines of web in an output. */
  const numbers = (text: string): number[] =>
    [...text.matchAll(/^line (\d+)$/gm)].map(([, number]) => Number(number));
  function expectWhole(text: string): void {
    const [first = 0, ...rest] = numbers(text);
    expect(rest).to.deep.equal(rest.map((_, at) => first + at + 1));
  }

  it('run with output, exit code and terminal', async () => {
    const script = 'echo out; echo err >&2; exit 7';
    const run = await daemon.cli('exec', 'web-0', '--', 'sh', '-c', script);
    expect(run).to.deep.equal({ code: 7, stdout: 'out\n', stderr: 'err\n' });
    const terminal = 'stty size; test -t 1';
    const tty = await daemon.cli('exec', '-t', 'web-0', '--', 'sh', '-c', terminal);
    expect([tty.code, tty.stdout.trim()]).to.deep.equal([0, '24 80']);
    const { status, body } = await daemon.rest('POST', `${base}/exec/web-0`, { command: [] });
    expect([status, body.reason]).to.deep.equal([400, 'ValidationFailed']);
  });

  it('get input of megabytes in order, and signals', async () => {
    const run = started('exec', '-i', 'web-0', '--', 'sha256sum');
    const input = Buffer.alloc(16 * 1_048_576, 'kedge ');
    run.child.stdin.end(input);
    expect((await run.ended)[0], run.stderr()).to.equal(0);
    expect(run.stdout()).to.contain(createHash('sha256').update(input).digest('hex'));

    const script = 'trap "echo caught; exit 5" TERM; echo ready; while :; do sleep 0.1; done';
    const trapped = started('exec', 'web-0', '--', 'sh', '-c', script);
    await eventually('the command', () => trapped.stdout().includes('ready'), 30_000);
    trapped.child.kill('SIGTERM');
    expect((await trapped.ended)[0]).to.equal(5);
    expect(trapped.stdout()).to.contain('caught');
  });

  it('do not fill the memory with output that is not read', async () => {
    const client = kedgeClient({ server: address, token: daemon.token });
    const far = new AbortController();
    try {
      const request = { namespace: 'default', name: 'web-0', command: ['cat', '/dev/zero'] };
      const output = client.api.stream('ExecService.Run', request, far.signal);
      await output[Symbol.asyncIterator]().next();
      const rss = async (pid: number): Promise<number> =>
        Number(/VmRSS:\s+(\d+)/.exec(await readFile(`/proc/${pid}/status`, 'utf8'))?.[1]);
      // The command is blocked once all windows are full.
      const written = async (): Promise<string> => readFile(`/proc/${zero()}/io`, 'utf8');
      const zero = (): number => pidsWith('cat /dev/zero').at(-1) ?? 0;
      let before = '';
      await eventually(
        'the command to block',
        async () => {
          const now = await written();
          const blocked = now === before;
          before = now;
          return blocked;
        },
        30_000,
      );
      const [, bytes = ''] = /wchar: (\d+)/.exec(before) ?? [];
      expect(Number(bytes), 'written by the command').to.be.below(64 * 1_048_576);
      expect(await rss(daemon.pid), 'KiB of the daemon').to.be.below(600_000);
    } finally {
      far.abort();
      client.close();
    }
    await eventually('the command to end', () => pidsWith('cat /dev/zero').length === 0, 30_000);
  });

  it('end with their caller', async () => {
    const { child, pid } = await waiting();
    child.kill('SIGKILL');
    await eventually('the command to end', () => !isAlive(pid), 30_000);
  });

  it('end with their caller and with the daemon while they do not read their input', async () => {
    const ends: readonly ((child: ChildProcess) => unknown)[] = [
      (child) => child.kill('SIGKILL'),
      () => daemon.crash(),
    ];
    for (const end of ends) {
      const { child, pid, stdout } = await waiting(
        'head -c 65536 >/dev/null; echo fed; sleep 600; :',
      );
      child.stdin?.on('error', () => undefined).write(Buffer.alloc(32 * 1_048_576));
      let before = '';
      await eventually(
        'the input to block',
        () => {
          const now = procText(child.pid ?? 0, 'io');
          const isBlocked = stdout().includes('fed') && now === before;
          before = now;
          return isBlocked;
        },
        30_000,
      );
      await end(child);
      await eventually('the command to end', () => !isAlive(pid), 30_000);
    }
  });

  it('are refused with the command to run there while no agent is connected', async () => {
    await agent.end('SIGTERM');
    const refused = async (...args: readonly string[]): Promise<string> => {
      const { code, stdout, stderr } = await daemon.cli(...args);
      expect([code === 0, stdout], args.join(' ')).to.deep.equal([false, '']);
      return stderr;
    };
    const tar = join(daemon.home, 'app.tar');
    await writeFile(tar, 'not read before the refusal');
    const absent = "can't be reached: the agent of node far-node is not connected to this server";
    const remedies: Readonly<Record<string, readonly string[]>> = {
      'load the tar archive: docker load -i FILE': ['image', 'load', tar, '--node', node],
      'list them: docker image ls': ['image', 'list', '--node', node],
      'remove them: docker image rm IMAGE': ['image', 'prune', '--node', node],
      'run the command yourself': ['exec', 'web-0', '--', 'true'],
      'read the directory instances/': ['logs', 'web-0'],
    };
    for (const [remedy, command] of Object.entries(remedies))
      expect(await refused(...command))
        .to.contain(absent)
        .and.contain(remedy);
    await agent.run();
    await eventually('web to run', async () => (await web()).status === 'Running', 90_000);
    expect(await refused('image', 'list', '--node', node)).to.contain('has no container runtime');
  });

  async function* starts(start: Record<string, string>) {
    yield { start };
  }

  it('are served by the agent of their node only: no other token, no other process', async () => {
    const { agentId } = await daemon.ok('GET', `/v1/nodes/${node}`);
    const attempts: readonly (readonly [string, string, string])[] = [
      // Another node's token, an administrator's, and the node's own for another process.
      [await tokenOf('other', 'other-node'), String(agentId), 'PermissionDenied'],
      [daemon.token, String(agentId), 'PermissionDenied'],
      [token, 'agent-of-nobody', 'FailedPrecondition'],
    ];
    for (const [by, id, code] of attempts) {
      const client = kedgeClient({ server: address, token: by });
      const { signal } = new AbortController();
      const connecting = client.api
        .duplex('AgentService.Connect', starts({ node, agentId: id }), signal)
        [Symbol.asyncIterator]()
        .next();
      expect(await connecting.catch((error: unknown) => error)).to.include({ code });
      client.close();
    }
    expect((await daemon.cli('exec', 'web-0', '--', 'true')).code).to.equal(0);
  });

  it('a killed agent: the command fails with the cause, and output continues with the next one', async () => {
    const logs = started('logs', 'web-0', '--follow', '--tail', '1');
    await eventually('some lines', () => numbers(logs.stdout()).length > 3, 30_000);
    const { pid } = await web();
    const command = await waiting();
    await agent.end('SIGKILL');
    expect((await command.ended)[0]).to.not.equal(0);
    expect(command.stderr()).to.contain('the connection to the agent of node far-node was lost');
    await agent.run();
    const before = numbers(logs.stdout()).length;
    await eventually('more lines', () => numbers(logs.stdout()).length > before + 3, 60_000);
    expectWhole(logs.stdout());
    expect(logs.stdout()).to.contain('[kedge] the connection to the agent of node far-node was');
    expect((await web()).pid).to.equal(pid);
    await eventually('the command to be gone', () => !isAlive(command.pid), 30_000);
  });

  it('a killed daemon: the command ends, and output continues with the next one', async () => {
    const logs = started('logs', 'web-0', '--follow', '--tail', '1');
    await eventually('some lines', () => numbers(logs.stdout()).length > 3, 30_000);
    const command = await waiting();
    await daemon.crash();
    expect((await command.ended)[0]).to.not.equal(0);
    await eventually('the command to be gone', () => !isAlive(command.pid), 30_000);
    const before = numbers(logs.stdout()).length;
    await eventually('more lines', () => numbers(logs.stdout()).length > before + 3, 60_000);
    expectWhole(logs.stdout());
    expect((await daemon.cli('exec', 'web-0', '--', 'echo', 'again')).stdout).to.equal('again\n');
  });
});
