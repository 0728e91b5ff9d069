import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import type { ExecProcess, Runtime, WorkloadSpec, WorkloadState } from '@kedge/controllers';
import { eventually } from 'kedge/testing';
import { limitConformance } from './conformance-limits.js';

/** A runtime on its real platform. */
export interface RuntimeSubject {
  /** The runtime of a daemon that starts now; workloads of earlier ones still exist. */
  open(): Runtime;
  /** The fields that a workload of this runtime needs besides its command. */
  readonly base: Partial<WorkloadSpec>;
  /** An empty directory for volumes with shared mount propagation. */
  readonly volumes: string;
}

/** Guarantees of some runtimes only. */
export interface RuntimeAbilities {
  /** A workload sees mounts that are created in a volume after its start. */
  readonly seesLaterMounts: boolean;
  /** A workload is held to its limits. */
  readonly limits: boolean;
}

type Running = Extract<WorkloadState, { state: 'running' }>;
type Exited = Extract<WorkloadState, { state: 'exited' }>;

/** Defines the conformance tests of a runtime. */
export function runtimeConformance(
  name: string,
  can: RuntimeAbilities,
  subjectOf: () => RuntimeSubject,
): void {
  describe(`runtime conformance of ${name}`, function () {
    this.timeout(120_000);
    let runtime: Runtime;
    let ids: string[] = [];

    beforeEach(() => {
      runtime = subjectOf().open();
    });
    afterEach(async () => {
      for (const id of ids) {
        await runtime.stop(id, 0);
        // Retries like the agent: a supervisor may be writing its last file.
        await eventually('the removal', async () => {
          await runtime.remove(id);
          return true;
        });
      }
      ids = [];
      runtime.close();
    });

    function shell(script: string, more: Partial<WorkloadSpec> = {}): WorkloadSpec {
      const id = randomUUID();
      ids.push(id);
      const { base } = subjectOf();
      return { id, command: ['/bin/sh', '-c', script], env: {}, mounts: [], ...base, ...more };
    }

    async function started(spec: WorkloadSpec): Promise<Running> {
      await runtime.start(spec);
      return eventually('the workload to run', async () => {
        const state = await runtime.observe(spec.id);
        return state.state === 'running' ? state : undefined;
      });
    }

    async function ended(spec: WorkloadSpec): Promise<Exited> {
      return eventually('the workload to end', async () => {
        const state = await runtime.observe(spec.id);
        return state.state === 'exited' ? state : undefined;
      });
    }

    async function logOf(id: string): Promise<readonly string[]> {
      const { signal } = new AbortController();
      const lines: string[] = [];
      for await (const { content } of runtime.readLog(id, { tail: 0, follow: false, signal }))
        lines.push(content);
      return lines;
    }

    async function says(spec: WorkloadSpec, line: string): Promise<void> {
      await eventually(`the line ${line}`, async () => (await logOf(spec.id)).includes(line));
    }

    async function outputOf(command: ExecProcess): Promise<string> {
      let text = '';
      for await (const { stream, data } of command.output) text += `${stream}:${String(data)}`;
      return text;
    }

    it('a workload that was never started is absent, and its stop and removal succeed', async () => {
      const id = randomUUID();
      expect(await runtime.observe(id)).to.deep.equal({ state: 'absent' });
      expect(await runtime.requestStop(id, 1_000)).to.deep.equal({ type: 'gone' });
      await runtime.remove(id);
      expect(await runtime.workloads()).not.to.include(id);
    });

    it('a workload runs with its command, arguments and environment, and its exit code is kept', async () => {
      const spec = shell('echo "$GREETING $0 $1"; exit 3', {
        args: ['zero', 'one two'],
        env: { GREETING: "it's $HOME" },
      });
      await runtime.start(spec);
      const end = await ended(spec);
      expect(end).to.deep.include({ run: 1, exitCode: 3, requested: false });
      expect(end.exitedAt).to.be.at.least(end.startedAt);
      expect(end.startedAt).to.be.closeTo(Date.now(), 60_000);
      expect(await logOf(spec.id)).to.deep.equal(["it's $HOME zero one two"]);
    });

    it('a workload that kills itself has 128 and the number of the signal', async () => {
      const spec = shell('kill -KILL $$');
      await runtime.start(spec);
      expect((await ended(spec)).exitCode).to.equal(137);
    });

    it('a start of a running workload has no effect', async () => {
      const spec = shell('echo began; exec sleep 600');
      const first = await started(spec);
      await says(spec, 'began');
      await Promise.all([runtime.start(spec), runtime.start(spec)]);
      expect(await runtime.observe(spec.id)).to.deep.equal(first);
      expect(await logOf(spec.id)).to.deep.equal(['began']);
    });

    it('a stop sends one signal, and the workload chooses its exit code', async () => {
      const spec = shell(
        "trap 'echo asked; sleep 0.3; exit 5' TERM; echo up; while :; do sleep 0.05; done",
      );
      await started(spec);
      await says(spec, 'up');
      expect((await runtime.requestStop(spec.id, 30_000)).type).to.equal('stopping');
      expect((await runtime.requestStop(spec.id, 30_000)).type).to.equal('stopping');
      const end = await ended(spec);
      expect(end).to.deep.include({ exitCode: 5, requested: true });
      expect(await runtime.requestStop(spec.id, 30_000)).to.deep.equal({ type: 'gone' });
      // A shell may also report its child, which received the signal as well.
      const lines = (await logOf(spec.id)).filter((line) => line !== 'Terminated');
      expect(lines).to.deep.equal(['up', 'asked']);
    });

    it('a workload that ignores the signal is killed after its grace period', async () => {
      const spec = shell("trap '' TERM; echo up; while :; do sleep 0.05; done");
      await started(spec);
      await says(spec, 'up');
      await runtime.stop(spec.id, 300);
      expect(await ended(spec)).to.deep.include({ exitCode: 137, requested: true });
    });

    it('a daemon that was killed during a stop continues with the rest of the grace period', async () => {
      const spec = shell("trap '' TERM; echo up; while :; do sleep 0.05; done");
      await started(spec);
      await says(spec, 'up');
      await runtime.requestStop(spec.id, 1_000);
      const askedAt = performance.now();
      const next = subjectOf().open();
      try {
        await next.stop(spec.id, 1_000);
        expect(performance.now() - askedAt).to.be.within(800, 20_000);
        expect(await next.observe(spec.id)).to.deep.include({ state: 'exited', requested: true });
      } finally {
        next.close();
      }
    });

    it('runs are counted, and the log has them in order; the previous one can be read alone', async () => {
      const spec = shell('echo "first of $RUN"; echo "last of $RUN"');
      for (const run of [1, 2, 3]) {
        await runtime.start({ ...spec, env: { RUN: String(run) } });
        await eventually(`run ${run} to end`, async () => {
          const state = await runtime.observe(spec.id);
          return state.state === 'exited' && state.run === run;
        });
      }
      const lines = await logOf(spec.id);
      expect(lines.slice(-4)).to.deep.equal(['first of 2', 'last of 2', 'first of 3', 'last of 3']);
      const previous: string[] = [];
      for await (const { content } of (await runtime.readPrevious(spec.id)) ?? [])
        previous.push(content);
      expect(previous).to.deep.equal(['first of 2', 'last of 2']);
    });

    it('a log is read from its tail, and from a position', async () => {
      const spec = shell('for i in 1 2 3 4 5; do echo line $i; done');
      await runtime.start(spec);
      await ended(spec);
      const { signal } = new AbortController();
      const tail: string[] = [];
      for await (const { content } of runtime.readLog(spec.id, { tail: 2, follow: false, signal }))
        tail.push(content);
      expect(tail).to.deep.equal(['line 4', 'line 5']);
      for (const read of [1, 3, 5]) {
        let after: readonly number[] | undefined;
        let count = 0;
        for await (const { cursor } of runtime.readLog(spec.id, {
          tail: 0,
          follow: false,
          signal,
        })) {
          count += 1;
          if (count === read) after = cursor;
        }
        const rest: string[] = [];
        const request = { tail: 0, follow: false, signal, after };
        for await (const { content } of runtime.readLog(spec.id, request)) rest.push(content);
        expect(rest).to.deep.equal(['line 1', 'line 2', 'line 3', 'line 4', 'line 5'].slice(read));
      }
    });

    it('a follower of a log receives every line once, across the end of a run and the next run', async () => {
      const spec = shell('for i in 1 2 3 4 5 6 7 8 9 10; do echo $RUN.$i; sleep 0.02; done');
      const reader = new AbortController();
      const lines: string[] = [];
      const { signal } = reader;
      const reading = (async () => {
        for await (const { content } of runtime.readLog(spec.id, { tail: 0, follow: true, signal }))
          lines.push(content);
      })();
      for (const run of [1, 2]) {
        await runtime.start({ ...spec, env: { RUN: String(run) } });
        await eventually(`the lines of run ${run}`, () => lines.includes(`${run}.10`));
        await ended(spec);
      }
      reader.abort();
      await reading;
      const all = [1, 2].flatMap((run) => Array.from({ length: 10 }, (_, i) => `${run}.${i + 1}`));
      expect(lines).to.deep.equal(all);
    });

    it('the listener is notified of a change', async () => {
      const spec = shell('sleep 0.2');
      const states: string[] = [];
      runtime.onChange((id) => {
        if (id === spec.id) void runtime.observe(id).then(({ state }) => states.push(state));
      });
      await runtime.availability();
      await runtime.start(spec);
      // On a loaded machine it ends before it is observed to run, so only its end is awaited.
      await eventually('the notification of the end', () => states.includes('exited'));
    });

    it('another daemon adopts running workloads, with pid and start time, and observes ended ones', async () => {
      const running = shell('exec sleep 600');
      const over = shell('exit 4');
      const before = await started(running);
      await runtime.start(over);
      await ended(over);
      runtime.close();
      runtime = subjectOf().open();
      expect(await runtime.workloads()).to.include.members([running.id, over.id]);
      expect(await runtime.observe(running.id)).to.deep.equal(before);
      await runtime.start(running);
      expect(await runtime.observe(running.id)).to.deep.equal(before);
      expect(await runtime.observe(over.id)).to.deep.include({ state: 'exited', exitCode: 4 });
    });

    it('a removed workload leaves no trace: its next run is the first', async () => {
      const spec = shell('echo once; exit 0');
      await runtime.start(spec);
      await ended(spec);
      await runtime.remove(spec.id);
      expect(await runtime.observe(spec.id)).to.deep.equal({ state: 'absent' });
      expect(await runtime.workloads()).not.to.include(spec.id);
      await runtime.start(spec);
      expect((await ended(spec)).run).to.equal(1);
      expect(await logOf(spec.id)).to.deep.equal(['once']);
    });

    it('a command that does not exist is reported, and nothing runs', async () => {
      const spec = { ...shell(''), command: ['/no/such/program'] };
      await runtime.start(spec).catch(() => undefined);
      const why = await eventually('the failure', async () => {
        const state = await runtime.observe(spec.id);
        if (state.state === 'startFailed') return state.message;
        return state.state === 'exited' ? state.refused : undefined;
      });
      expect(why).to.match(/does not exist|No such file/);
    });

    it('a command runs in the workload, with its input to the end, separate streams and its exit code', async () => {
      const spec = shell('exec sleep 600', { env: { INSIDE: 'yes' } });
      await started(spec);
      const script = 'read line; echo "$line $INSIDE"; echo bad >&2; cat >/dev/null; exit 6';
      const command = await runtime.exec!(spec.id, {
        command: ['/bin/sh', '-c', script],
        terminal: undefined,
      });
      await command.write(Buffer.from('given\n'));
      command.closeInput();
      const text = await outputOf(command);
      expect(text).to.include('stdout:given yes\n').and.include('stderr:bad\n');
      expect(await command.exited).to.deep.equal({ code: 6, signal: '' });
    });

    it('a command on a terminal has its size, and receives a resize and a signal', async () => {
      const spec = shell('exec sleep 600');
      await started(spec);
      const script =
        'trap "echo interrupted; exit 9" INT; until [ "$(stty size)" = "33 91" ]; do sleep 0.05; done; echo sized; read line; stty size; while :; do sleep 0.05; done';
      const command = await runtime.exec!(spec.id, {
        command: ['/bin/sh', '-c', script],
        terminal: { columns: 91, rows: 33 },
      });
      let text = '';
      const reading = (async () => {
        for await (const { data } of command.output) text += String(data);
      })();
      await eventually('the first size', () => text.includes('sized'));
      await command.resize({ columns: 70, rows: 20 });
      await command.write(Buffer.from('\n'));
      await eventually('the second size', () => text.includes('20 70'));
      await command.signal('SIGINT');
      expect((await command.exited).code).to.equal(9);
      await reading;
      expect(text).to.include('interrupted');
    });

    it('a command that is cancelled ends with all its children', async () => {
      const spec = shell('exec sleep 600');
      await started(spec);
      const command = await runtime.exec!(spec.id, {
        command: ['/bin/sh', '-c', 'sleep 601 & echo up; sleep 602'],
        terminal: undefined,
      });
      const text = outputOf(command);
      command.kill();
      await command.exited;
      await text.catch(() => undefined);
      const look = await runtime.exec!(spec.id, {
        command: ['/bin/sh', '-c', 'cat /proc/[0-9]*/cmdline | tr "\\0" " "'],
        terminal: undefined,
      });
      look.closeInput();
      expect(await outputOf(look)).not.to.match(/sleep 60[12]/);
    });

    it('a workload has its own mounts, writable or read-only, and none of other workloads', async () => {
      const { volumes } = subjectOf();
      const [mine, theirs] = [join(volumes, 'mine'), join(volumes, 'theirs')];
      for (const path of [mine, theirs]) {
        await mkdir(path, { recursive: true });
        await writeFile(join(path, 'file'), `content of ${path}\n`);
      }
      const script = `cat /data/file; echo new >/data/new && echo wrote; (echo x >/fixed/new) 2>/dev/null || echo refused; ls ${theirs}/file 2>/dev/null || echo hidden; exec sleep 600`;
      const spec = shell(script, {
        mounts: [
          { source: mine, target: '/data', readOnly: false },
          { source: mine, target: '/fixed', readOnly: true },
        ],
      });
      const other = shell('exec sleep 600', {
        mounts: [{ source: theirs, target: '/data', readOnly: false }],
      });
      await started(other);
      await started(spec);
      await says(spec, 'hidden');
      expect(await logOf(spec.id)).to.deep.equal([
        `content of ${mine}`,
        'wrote',
        'refused',
        'hidden',
      ]);
      expect(await readFile(join(mine, 'new'), 'utf8')).to.equal('new\n');
    });

    if (can.limits) limitConformance({ shell, logOf, runtime: () => runtime });

    if (can.seesLaterMounts)
      it('mounts that are created later in a volume are visible', async () => {
        const source = join(subjectOf().volumes, 'growing');
        const later = join(source, 'later');
        await mkdir(later, { recursive: true });
        const spec = shell(
          'echo up; until [ -e /data/later/file ]; do sleep 0.05; done; echo seen; exec sleep 600',
          { mounts: [{ source, target: '/data', readOnly: false }] },
        );
        await started(spec);
        await says(spec, 'up');
        expect(spawnSync('mount', ['-t', 'tmpfs', 'kedge-test', later]).status).to.equal(0);
        try {
          await writeFile(join(later, 'file'), '');
          await says(spec, 'seen');
          await runtime.stop(spec.id, 0);
        } finally {
          expect(spawnSync('umount', [later]).status).to.equal(0);
        }
      });
  });
}
