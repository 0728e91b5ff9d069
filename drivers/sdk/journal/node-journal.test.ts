import {
  type FileHandle,
  mkdir,
  mkdtemp,
  open,
  readdir,
  readFile,
  rm,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import fc from 'fast-check';
import { DriverError } from '../errors/errors.js';
import {
  directoryJournal,
  type JournalFiles,
  memoryJournal,
  NodeJournal,
  type NodeState,
} from './node-journal.js';
import { type NodeUndo, recoverNode } from './node-recovery.js';

/** Thrown by the calls of a killed process. Its later calls have no effect. */
class Killed extends Error {}

/** The state that survives a process: that of the kernel and of the disk, and the attachments in the store. */
class World {
  readonly states = new Set<string>();
  readonly disk = new Map<string, string>();
  readonly attached = new Set<string>();
}

/** One process over a world. It can be killed at every step, before or after the effect of the step. */
class Life {
  readonly #world: World;
  #left: number;

  constructor(world: World, steps: number) {
    this.#world = world;
    this.#left = steps;
  }

  async step<T>(effect: () => T): Promise<T> {
    await Promise.resolve();
    if (this.#left <= 0) throw new Killed();
    this.#left -= 1;
    if (this.#left === 0) throw new Killed();
    const result = effect();
    this.#left -= 1;
    if (this.#left <= 0) throw new Killed();
    return result;
  }

  get journal(): NodeJournal {
    const { disk } = this.#world;
    const files: JournalFiles = {
      list: () => this.step(() => [...disk.keys()]),
      read: (name) => this.step(() => disk.get(name)),
      write: (name, text) => this.step(() => void disk.set(name, text)),
      remove: (name) => this.step(() => void disk.delete(name)),
      setAside: (name) => this.step(() => (disk.delete(name), name)),
    };
    return new NodeJournal(files);
  }

  make(state: NodeState): Promise<void> {
    return this.step(() => void this.#world.states.add(keyOf(state)));
  }

  unmake(state: NodeState): Promise<void> {
    return this.step(() => void this.#world.states.delete(keyOf(state)));
  }
}

/** Whether an error means that the process was killed, also while it undid failed work. */
function isKilled(error: unknown): boolean {
  if (error instanceof Killed) return true;
  const { cause } = error as { readonly cause?: unknown };
  return cause instanceof AggregateError && cause.errors.some(isKilled);
}

function keyOf(state: NodeState): string {
  return JSON.stringify(state);
}
const loop = (uid: string): NodeState => ({ type: 'loop', uid, file: `/root/${uid}.img` });
const mount = (uid: string): NodeState => ({ type: 'mount', uid, target: `/mounts/${uid}` });
const freeze = (uid: string): NodeState => ({ type: 'freeze', uid, device: `/dev/loop-${uid}` });

/** The actions of the node on a volume, as those of the driver and its callers. */
const acts = {
  async attach(life: Life, { attached, states }: World, uid: string) {
    await life.step(() => attached.add(uid));
    if (!states.has(keyOf(loop(uid))))
      await life.journal.make(loop(uid), () => life.make(loop(uid)));
    await life.journal.make(mount(uid), () => life.make(mount(uid)));
  },
  async detach(life: Life, { attached }: World, uid: string) {
    await life.journal.undo(mount(uid), () => life.unmake(mount(uid)));
    await life.journal.undo(loop(uid), () => life.unmake(loop(uid)));
    await life.step(() => attached.delete(uid));
  },
  async snapshot(life: Life, { states }: World, uid: string) {
    if (!states.has(keyOf(mount(uid)))) return;
    const thaw = (): Promise<void> => life.unmake(freeze(uid));
    const work = async (): Promise<void> => {
      expect(states.has(keyOf(freeze(uid))), 'not frozen before').to.equal(false);
      await life.make(freeze(uid));
      await thaw();
    };
    await life.journal.hold(freeze(uid), work, thaw);
  },
  async failedSnapshot(life: Life, _world: World, uid: string) {
    const work = async (): Promise<void> => {
      await life.make(freeze(uid));
      throw new Error('the copy failed');
    };
    const failed = await life.journal
      .hold(freeze(uid), work, () => life.unmake(freeze(uid)))
      .catch((error: unknown) => error);
    if (failed instanceof Error && isKilled(failed)) throw failed;
  },
  async restart(life: Life, { attached }: World) {
    const undo: NodeUndo = {
      thaw: (state) => life.unmake(state),
      unmount: (state) => life.unmake(state),
      detach: (state) => life.unmake(state),
    };
    const died = (
      await recoverNode(life.journal, undo, ({ type }) => type !== 'freeze')
    ).failed.concat(
      (
        await recoverNode(
          life.journal,
          undo,
          ({ type, uid }) => type === 'freeze' || attached.has(uid),
        )
      ).failed,
    );
    if (died.length > 0) throw new Killed();
  },
};

const act = fc.record({
  name: fc.constantFrom('attach', 'detach', 'snapshot', 'failedSnapshot', 'restart' as const),
  uid: fc.constantFrom('a', 'b'),
});

describe('the journal of a node', () => {
  it('records every state that a process left, killed at any step; the next start undoes unwanted states', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ acts: fc.array(act, { maxLength: 6 }), steps: fc.nat(40) }), {
          minLength: 1,
          maxLength: 5,
        }),
        async (lives) => {
          const world = new World();
          for (const { acts: list, steps } of lives) {
            const life = new Life(world, steps);
            try {
              await acts.restart(life, world);
              for (const { name, uid } of list) await acts[name](life, world, uid);
            } catch (error) {
              if (!isKilled(error)) throw error;
            }
            const named = [...world.disk.values()];
            for (const state of world.states) expect(named).to.include(state);
          }
          await acts.restart(new Life(world, Infinity), world);
          for (const text of world.states) {
            const state = JSON.parse(text) as NodeState;
            expect(state.type).to.not.equal('freeze');
            expect(world.attached.has(state.uid), text).to.equal(true);
          }
        },
      ),
      { numRuns: 2_000 },
    );
  });

  it('in a directory survives its process and an interrupted write, and sets damaged records aside', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'kedge-journal-'));
    try {
      const directory = join(folder, 'journal');
      const journal = directoryJournal(directory);
      expect((await journal.replay()).states).to.deep.equal([]);
      for (const state of [loop('a'), mount('a'), freeze('a')])
        await journal.make(state, () => Promise.resolve());
      await writeFile(join(directory, 'mount-b-0123456789abcdef.new'), '{"type"');
      const next = directoryJournal(directory);
      expect((await next.replay()).states).to.deep.equal([freeze('a'), mount('a'), loop('a')]);
      await next.undo(mount('a'), () => Promise.resolve());
      await next.forget(mount('a'));
      expect((await next.replay()).states).to.deep.equal([freeze('a'), loop('a')]);
      const damaged = [
        '{"type"',
        '{"type":"mount","uid":"b"}',
        '{"type":"raid","uid":"b"}',
        'null',
      ];
      for (const [n, text] of damaged.entries()) await writeFile(join(directory, `b-${n}`), text);
      const { states, damaged: aside } = await next.replay();
      expect(states).to.deep.equal([freeze('a'), loop('a')]);
      expect([...aside].sort()).to.deep.equal(
        damaged.map((_, n) => join(directory, `b-${n}.damaged`)),
      );
      for (const [n, place] of [...aside].sort().entries())
        expect(await readFile(place, 'utf8')).to.equal(damaged[n]);
      expect((await next.replay()).damaged, 'set aside once').to.deep.equal([]);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it('identifies a damaged record by its name, so that a frozen file system is thawed', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'kedge-journal-'));
    try {
      const journal = directoryJournal(folder);
      const all = [freeze('a'), mount('a'), loop('a'), freeze('gone')];
      for (const state of all) await journal.make(state, () => Promise.resolve());
      const names = await readdir(folder);
      for (const name of names) {
        await writeFile(join(folder, name), '');
        // A record that can't be read.
        if (!name.startsWith('loop')) continue;
        await rm(join(folder, name));
        await mkdir(join(folder, name));
      }
      const undone: NodeState[] = [];
      const step = (state: NodeState): Promise<void> => Promise.resolve(void undone.push(state));
      const places = () => Promise.resolve(['/', '/dev/loop-a', '/dev/loop-b', '/mounts/a']);
      const undo: NodeUndo = { thaw: step, unmount: step, detach: step, places };
      const recovery = await recoverNode(journal, undo, ({ type }) => type !== 'freeze');
      expect(undone).to.deep.equal([freeze('a')]);
      expect(recovery.repaired).to.have.deep.members([freeze('a'), mount('a')]);
      const aside = names.filter((name) => /^loop-|^freeze-gone-/.test(name));
      expect([...recovery.damaged].sort()).to.deep.equal(
        aside.map((name) => join(folder, `${name}.damaged`)).sort(),
      );
      expect((await journal.replay()).states, 'written again').to.deep.equal([mount('a')]);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it('in a directory is durable before an act: the record before its name, the name before the act', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'kedge-journal-'));
    const probe = await open(directory);
    const prototype = Object.getPrototypeOf(probe) as FileHandle;
    await probe.close();
    const sync: (this: FileHandle) => Promise<void> = Reflect.get(prototype, 'sync');
    const synced: string[] = [];
    const names = async () =>
      (await readdir(directory)).map((name) => name.replace(/[0-9a-f]{16}/, '*'));
    prototype.sync = async function (this: FileHandle) {
      const what = (await this.stat()).isDirectory()
        ? 'directory'
        : await readFile(`/proc/self/fd/${this.fd}`, 'utf8');
      await sync.call(this);
      synced.push(`${what} with ${(await names()).join(', ') || 'nothing'}`);
    };
    try {
      const journal = directoryJournal(directory);
      await journal.make(loop('a'), async () => {
        expect(synced, 'before the act').to.deep.equal([
          `${JSON.stringify(loop('a'))} with loop-a-*.new`,
          'directory with loop-a-*',
        ]);
        await Promise.resolve();
      });
      await journal.forget(loop('a'));
      expect(synced.slice(2)).to.deep.equal(['directory with nothing']);
      await journal.forget(loop('a'));
      expect(synced, 'nothing was removed').to.have.length(3);
    } finally {
      prototype.sync = sync;
      await rm(directory, { recursive: true });
    }
  });

  it('creates a state after recording it, and after undoing the state of an earlier process', async () => {
    const steps: string[] = [];
    const texts = new Map<string, string>();
    const files: JournalFiles = {
      list: () => Promise.resolve([...texts.keys()]),
      read: (name) => Promise.resolve(texts.get(name)),
      write: async (name, text) => {
        await new Promise((resolve) => setImmediate(resolve));
        texts.set(name, text);
        steps.push('recorded');
      },
      remove: (name) => Promise.resolve(void texts.delete(name)),
      setAside: (name) => Promise.resolve(name),
    };
    const step = (what: string) => (): Promise<void> => Promise.resolve(void steps.push(what));
    const hold = (): Promise<void> =>
      new NodeJournal(files).hold(freeze('a'), step('work'), step('undone'));
    await hold();
    expect(steps.splice(0)).to.deep.equal(['recorded', 'work']);
    await new NodeJournal(files).make(freeze('a'), step('made'));
    expect(steps.splice(0)).to.deep.equal(['recorded', 'made']);
    await hold();
    expect(steps).to.deep.equal(['undone', 'recorded', 'work']);
  });

  it('keeps wanted states and their records', async () => {
    const journal = memoryJournal();
    const made = (): Promise<void> => Promise.resolve();
    for (const state of [mount('a'), loop('a'), mount('b'), loop('b')])
      await journal.make(state, made);
    const undone: NodeState[] = [];
    const step = (state: NodeState): Promise<void> => Promise.resolve(void undone.push(state));
    const undo: NodeUndo = { thaw: step, unmount: step, detach: step };
    const recovery = await recoverNode(journal, undo, ({ uid }) => uid === 'a');
    expect(recovery.undone).to.deep.equal(undone);
    expect(undone).to.deep.equal([mount('b'), loop('b')]);
    expect((await journal.replay()).states).to.deep.equal([mount('a'), loop('a')]);
  });

  it('reports the error of the work even if its undo fails', async () => {
    const journal = memoryJournal();
    const error: unknown = await journal
      .hold(
        freeze('a'),
        () => Promise.reject(new DriverError('QuotaExceeded', 'the disk is full')),
        () => Promise.reject(new Error('it stays frozen')),
      )
      .catch((thrown: unknown) => thrown);
    expect(error).to.include({
      kind: 'QuotaExceeded',
      message: 'the disk is full; the undo also failed: it stays frozen',
    });
    expect(await journal.has(freeze('a')), 'the next start undoes it').to.equal(true);
  });
});
