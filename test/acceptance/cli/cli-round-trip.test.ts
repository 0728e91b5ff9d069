import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { allKinds } from '@kedge/controllers/kinds';
import { TestDaemon, workload } from '../daemon.js';

/** Kinds that are not cast: a controller, an agent or another command creates them. */
const notCast = ['Event', 'Instance', 'Token'];

describe('what kedge get prints', function () {
  this.timeout(180_000);
  let daemon: TestDaemon;
  before(async () => {
    daemon = await TestDaemon.start();
    const { volume, service } = workload(daemon, 'web', 'sleep 600');
    const first = {
      namespace: { name: 'other' },
      volume: { ...volume, labels: { app: 'web' } },
      service: { ...service, minReadySeconds: 0, env: { A: 'b' } },
      secret: { name: 'login', data: { password: 'tide' } },
      configmap: { name: 'settings', data: { a: 'b' } },
      registry: { name: 'hub', registry: 'registry.example.com' },
      storageClass: { name: 'own', driver: 'local', parameters: {} },
      policy: {
        name: 'own',
        rules: [{ resources: ['volumes'], verbs: ['get'], namespaces: ['*'] }],
      },
      local: { name: 'data', storageClassName: 'own', size: '1Gi', accessMode: 'ReadWriteOnce' },
      snapshot: { name: 'copy', source: { volume: 'data' } },
      user: { name: 'ada', kind: 'user', policies: ['own'] },
    };
    for (const [name, object] of Object.entries(first)) {
      const kind = name === 'local' ? 'volume' : name;
      const file = join(daemon.home, `${kind}.yaml`);
      await writeFile(file, JSON.stringify({ [kind]: object }));
      const { code, stderr } = await daemon.cli('cast', file, '--no-wait');
      expect(code, `${kind}: ${stderr}`).to.equal(0);
    }
  });
  after(() => daemon.dispose());

  async function printed(...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await daemon.cli('get', ...args, '-A', '-o', 'yaml');
    expect(code, `${args.join(' ')}: ${stderr}`).to.equal(0);
    return stdout;
  }
  const cast = async (documents: readonly string[]) => {
    const file = join(daemon.home, 'again.yaml');
    await writeFile(file, documents.join('\n---\n'));
    return daemon.cli('cast', file, '--no-wait');
  };

  it('of every kind that is cast can be cast again, as a list and as one object, and changes nothing', async () => {
    const kinds = allKinds.filter(({ kind }) => !notCast.includes(kind));
    const lists: string[] = [];
    const singles: string[] = [];
    for (const { plural, scope } of kinds) {
      const list = await printed(plural);
      lists.push(list);
      const [, name] = /^ {2}- name: "?([^"\n]+)/m.exec(list) ?? [];
      if (name === undefined) throw new Error(`there are no ${plural}`);
      const [, namespace = ''] = /^ {4}namespace: "?([^"\n]+)/m.exec(list) ?? [];
      const where = scope === 'Namespaced' ? ['-n', namespace] : [];
      const one = await daemon.cli('get', plural, name, ...where, '-o', 'yaml');
      expect(one.code, one.stderr).to.equal(0);
      singles.push(one.stdout);
    }
    for (const documents of [lists, singles]) {
      const { code, stdout, stderr } = await cast(documents);
      expect(code, stderr).to.equal(0);
      for (const { kind } of kinds) expect(stdout).to.contain(`= ${kind} `);
      expect(stdout).to.not.match(/updated|created/);
    }
  });

  for (const kind of notCast)
    it(`of a kind that is not cast is refused with the reason: ${kind}`, async () => {
      const { plural } = allKinds.find((known) => known.kind === kind)!;
      const { code, stderr } = await cast([await printed(plural)]);
      expect(code, stderr).to.equal(6);
      expect(stderr).to.match(/are created by their service|is shown only once|can't be cast/);
    });
});
