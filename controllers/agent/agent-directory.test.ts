import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { lockDirectory, type StatusError, systemRandom } from 'kedge';
import { type AgentDirectory, openAgentDirectory } from './agent-directory.js';

describe('the directory of an agent', () => {
  let home: string;
  const opened: AgentDirectory[] = [];
  beforeEach(async () => {
    home = await mkdtemp(join(tmpdir(), 'agent-directory-'));
  });
  afterEach(async () => {
    for (const directory of opened.splice(0)) await directory.release();
    await rm(home, { recursive: true });
  });

  async function open(name: string, boot = 'boot'): Promise<AgentDirectory> {
    const found = await openAgentDirectory({
      directory: join(home, name),
      lock: lockDirectory,
      random: systemRandom,
      bootId: () => Promise.resolve(boot),
    });
    opened.push(found);
    return found;
  }
  const close = async (): Promise<void> => opened.pop()?.release();

  it('belongs to one process at a time, which knows that earlier ones have ended', async () => {
    const { life: first } = await open('a');
    const refusal = await open('a').catch((error: StatusError) => error.reason);
    expect(refusal).to.equal('DirectoryLocked');
    await close();
    const { life: second } = await open('a');
    expect(second.id).to.not.equal(first.id);
    expect(second.hasEnded(first.id)).to.equal(true);
  });

  it('reports nothing about processes of another directory, even of a copy', async () => {
    const { life: first } = await open('a');
    await close();
    await cp(join(home, 'a'), join(home, 'b'), { recursive: true });
    for (const name of ['b', 'c'])
      expect((await open(name)).life.hasEnded(first.id), name).to.equal(false);
  });

  it('reports nothing about processes of another boot of the machine', async () => {
    const { life: first } = await open('a', 'one');
    await close();
    expect((await open('a', 'other')).life.hasEnded(first.id)).to.equal(false);
  });
});
