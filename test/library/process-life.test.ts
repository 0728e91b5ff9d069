import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { Program } from './program.js';

const child = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
const life = (...args: readonly string[]): Program => new Program(child('life-child.js'), args);

describe('handles that keep a process alive', () => {
  for (const what of ['watch', 'informer', 'queue', 'candidate', 'manager', 'starting'])
    it(`a program whose ${what} goes on does not exit`, async () => {
      await using program = life(what);
      await program.prints('still here');
    });

  it('housekeeping alone does not keep it alive', async () => {
    await using program = life('idle');
    expect(await program.ended).to.deep.equal({ code: 0, signal: null });
    expect(program.output).not.to.contain('still here');
  });
});

describe('manager.run', () => {
  let directory: string;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'kedge-run-'));
  });
  afterEach(() => rm(directory, { recursive: true }));

  for (const signal of ['SIGTERM', 'SIGINT'] as const)
    it(`a program with one reconciler runs until ${signal}, stops gracefully and exits 0`, async () => {
      await using program = new Program(child('manager-child.js'), [directory]);
      await program.prints('reconciled hall');
      program.kill(signal);
      expect(await program.ended).to.deep.equal({ code: 0, signal: null });
      expect(program.output).to.equal('reconciled hall\nstopped, the manager is stopped\n');
    });

  it('the program runs again on the same directory', async () => {
    for (const _ of [1, 2]) {
      await using program = new Program(child('manager-child.js'), [directory]);
      await program.prints('reconciled hall');
      program.kill('SIGTERM');
      expect((await program.ended).code).to.equal(0);
    }
  });

  it('a second signal ends the program without waiting, with the exit code of that signal', async () => {
    await using program = life('hanging');
    await program.prints('begun');
    program.kill('SIGTERM');
    await program.prints('stopping');
    program.kill('SIGTERM');
    expect(await program.ended).to.deep.equal({ code: 143, signal: null });
  });

  it('a part that does not stop in time is named, the others are stopped, and the code is 1', async () => {
    await using program = life('overrun');
    await program.prints('still here');
    program.kill('SIGTERM');
    expect(await program.ended).to.deep.equal({ code: 1, signal: null });
    expect(program.output).to.contain('runnable stuck was abandoned').and.contain('quiet stopped');
  });

  it('a start that fails ends the program with its error', async () => {
    await using program = life('failing');
    expect(await program.ended).to.deep.equal({ code: 1, signal: null });
    expect(program.output).to.match(/error: StatusError: runnable q.*: no port/);
  });

  it('resolves when its signal aborts', async () => {
    await using program = life('aborted');
    expect(await program.ended).to.deep.equal({ code: 0, signal: null });
    expect(program.output).to.contain('resolved');
  });

  it('a leader whose lease writes hang ends with an error that names the lease', async () => {
    await using program = life('lost');
    expect(await program.ended).to.deep.equal({ code: 1, signal: null });
    expect(program.output).to.contain('lost the leadership of lease lead');
    expect(program.output).to.contain('quiet stopped');
  });
});

describe('a one-shot client against a dead server', () => {
  /** A server that accepts connections and never answers. */
  async function silentServer(): Promise<AsyncDisposable & { readonly address: string }> {
    const server = createServer(() => undefined);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as { port: number };
    const sockets = new Set<{ destroy(): void }>();
    server.on('connection', (socket) => {
      sockets.add(socket);
      socket.on('error', () => undefined);
    });
    return {
      address: `127.0.0.1:${port}`,
      async [Symbol.asyncDispose]() {
        for (const socket of sockets) socket.destroy();
        await new Promise((resolve) => server.close(resolve));
      },
    };
  }

  for (const program of ['once', 'retry'])
    it(`ends with the error and exit code 1 within its deadline: ${program}, refused`, async () => {
      const { address, ...server } = await silentServer();
      await server[Symbol.asyncDispose]();
      const startedAt = performance.now();
      await using client = life(program, address);
      expect(await client.ended).to.deep.equal({ code: 1, signal: null });
      expect(client.output).to.match(/error: (StatusError|Error): /);
      expect(performance.now() - startedAt).to.be.lessThan(25_000);
    });

  for (const program of ['once', 'retry'])
    it(`ends with the error and exit code 1 within its deadline: ${program}, silent`, async () => {
      await using server = await silentServer();
      const startedAt = performance.now();
      await using client = life(program, server.address);
      expect(await client.ended).to.deep.equal({ code: 1, signal: null });
      expect(client.output).to.match(/error: (StatusError|Error): /);
      expect(performance.now() - startedAt).to.be.lessThan(25_000);
    });

  it('a program does not exit before a retry that is not awaited', async () => {
    const { address, ...server } = await silentServer();
    await server[Symbol.asyncDispose]();
    await using client = life('forgotten', address);
    expect((await client.ended).code).to.equal(0);
    expect(client.output).to.contain('failed: ');
  });
});
