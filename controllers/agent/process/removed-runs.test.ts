import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { systemClock } from 'kedge';
import { eventually } from 'kedge/testing';
import { defaultPolicy } from '../../policy/policy.js';
import { ProcessRuntime } from './process-runtime.js';

const id = '11111111-2222-4333-8444-555555555555';

describe('a process that is started again after its removal', function () {
  this.timeout(180_000);
  let folder: string;
  let runtime: ProcessRuntime;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kedge-removed-'));
  });
  afterEach(async () => {
    runtime.close();
    await rm(folder, { recursive: true });
  });

  /** Starts a runtime whose supervisor is the script `code`, which is as slow as on a loaded machine. */
  async function slow(code: string): Promise<void> {
    const supervisor = join(folder, 'supervise.sh');
    await writeFile(supervisor, code);
    const directory = join(folder, 'instances');
    runtime = new ProcessRuntime({
      directory,
      hiddenDirectories: [],
      clock: systemClock,
      supervisor,
      policy: { ...defaultPolicy, processPollMs: 2_000 },
    });
  }

  const spec = (word: string) => ({
    id,
    command: [word],
    env: {},
    workingDir: '/',
    mounts: [],
  });
  const reach = (state: string) =>
    eventually(state, async () => (await runtime.observe(id)).state === state);
  const record = 'echo "$4" >"$1/exit.new"; mv "$1/exit.new" "$1/exit"';

  it('runs although the start of the earlier run is still awaited', async () => {
    await slow(`sleep 0.35; mkdir "$1/claimed" || exit 0; echo "$$ 1 box" >"$1/pid"; ${record}`);
    for (const code of ['7', '8']) {
      await runtime.start(spec(code));
      await reach('exited');
      expect(await runtime.observe(id)).to.include({ run: 1, exitCode: Number(code) });
      await runtime.remove(id);
    }
  });

  it('is not run by the supervisor of the earlier run, which came too late', async () => {
    await slow(
      `[ "$4" = 8 ] || sleep 2; [ "$4" = 7 ] || sleep 3; mkdir "$1/claimed" || exit 0; echo "$$ 1 box" >"$1/pid"; ${record}`,
    );
    await runtime.start(spec('7'));
    await runtime.remove(id);
    await runtime.start(spec('8'));
    await reach('exited');
    expect(await runtime.observe(id)).to.include({ run: 1, exitCode: 8 });
  });
});
