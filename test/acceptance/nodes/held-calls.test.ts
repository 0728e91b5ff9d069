import { existsSync } from 'node:fs';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { eventually } from 'kedge/testing';
import type { Held } from '../../fixtures/held-calls.js';
import { AgentProcess, freePort } from './agent-process.js';
import { type Finished, TestDaemon } from '../daemon.js';

const base = '/v1/namespaces/default';
const node = 'far-node';
type Shown = Readonly<Record<string, unknown>>;

describe('a volume whose node executes a call', function () {
  this.timeout(240_000);
  let daemon: TestDaemon;
  let agent: AgentProcess;
  let file: string;

  before(async () => {
    const address = `127.0.0.1:${await freePort()}`;
    daemon = await TestDaemon.start({ arguments: ['--grpc-address', address] });
    const account = { kind: 'serviceAccount', policies: ['node'], node };
    await daemon.ok('POST', '/v1/admin/users', { name: 'far', ...account });
    const { token } = await daemon.ok('POST', '/v1/auth/tokens', { subject: 'far' });
    file = join(daemon.home, 'held');
    agent = new AgentProcess({
      server: address,
      token: String(token),
      node,
      directory: join(daemon.home, 'far'),
      hostPathAllowlist: [],
      heartbeatMs: 500,
      held: file,
    });
    await agent.run();
    await daemon.ok('POST', '/v1/storageclasses', {
      name: 'far',
      driver: 'local',
      reclaimPolicy: 'delete',
      allowedTopologies: [{ matchLabels: { 'svc.io/node': node } }],
    });
  });
  after(async () => {
    await agent.end('SIGTERM');
    await daemon.dispose();
  });

  async function until(path: string, holds: (shown: Shown) => boolean): Promise<Shown> {
    return eventually(
      path,
      async () => {
        const { status, body } = await daemon.rest('GET', `${base}/${path}`);
        return status === 200 && holds(body) ? body : undefined;
      },
      60_000,
    ).catch(async (error: unknown) => {
      const { body } = await daemon.rest('GET', `${base}/${path}`);
      throw new Error(`${String(error)}\n${JSON.stringify(body)}\n${agent.log}`);
    });
  }
  const gone = (path: string): Promise<unknown> =>
    eventually(
      `${path} to go`,
      async () => (await daemon.rest('GET', `${base}/${path}`)).status === 404,
      60_000,
    );
  /** Creates a volume with a file in it. @returns its directory */
  async function make(name: string, more: object = {}): Promise<string> {
    const size = { size: '1Mi', accessMode: 'ReadWriteOnce' };
    await daemon.ok('POST', `${base}/volumes`, { name, storageClassName: 'far', ...size, ...more });
    const { handle } = await until(`volumes/${name}`, (v) => v.status === 'Available');
    await writeFile(join(String(handle), 'file'), name);
    return String(handle);
  }
  const saysDeleted = ({ conditions }: Shown, words: string): boolean =>
    (conditions as readonly Shown[]).some(
      ({ type, message }) => type === 'Deleted' && String(message).includes(words),
    );
  const content = (handle: string): Promise<string> => readFile(join(handle, 'file'), 'utf8');
  const hold = (call: Held): Promise<void> => writeFile(file, call);
  const held = (count = 1): Promise<unknown> =>
    eventually(`${count} held calls`, () => agent.log.split('"call held"').length > count, 60_000);

  for (const at of ['before', 'after'] as const)
    it(`is deleted by a second kedge delete if the node was killed in its first deletion, ${at} the data was deleted`, async () => {
      const going = await make(`going-${at}`);
      const staying = await make(`staying-${at}`);
      await hold(`delete ${at}`);
      await daemon.ok('DELETE', `${base}/volumes/going-${at}`);
      await held();
      await agent.end('SIGKILL');
      await rm(file);
      expect(existsSync(going)).to.equal(at === 'before');
      const again = await daemon.cli('delete', 'volume', `going-${at}`, '--no-wait');
      expect(again.code, again.stderr).to.equal(0);
      await until(`volumes/going-${at}`, (v) => saysDeleted(v, node));
      const waiting: Promise<Finished> = daemon.cli('delete', 'volume', `going-${at}`);
      await agent.run();
      const { code, stderr } = await waiting;
      expect(code, stderr).to.equal(0);
      await gone(`volumes/going-${at}`);
      expect(existsSync(going)).to.equal(false);
      expect(await content(staying)).to.equal(`staying-${at}`);
    });

  it('keeps its data by the policy retain if it is deleted during a copy of it', async () => {
    // The volume controller and the node observe the end of a copy at the same time, and either may act first.
    const names = Array.from({ length: 8 }, (_, n) => `kept-${n}`);
    const kept = await Promise.all(names.map((name) => make(name, { reclaimPolicy: 'retain' })));
    await hold('createSnapshot before');
    for (const name of names)
      await daemon.ok('POST', `${base}/snapshots`, { name, source: { volume: name } });
    await held(names.length);
    for (const name of names) await daemon.ok('DELETE', `${base}/volumes/${name}`);
    for (const name of names)
      await until(`volumes/${name}`, (v) => saysDeleted(v, 'waits until snapshots'));
    await rm(file);
    for (const name of names) {
      await until(`snapshots/${name}`, (s) => s.status === 'Ready');
      await gone(`volumes/${name}`);
    }
    // The node observes this volume after all changes of the others, so that their work has begun by then.
    await make('next');
    for (const [n, name] of names.entries()) expect(await content(kept[n] ?? '')).to.equal(name);
  });
});
