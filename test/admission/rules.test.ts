import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { allKinds } from '@kedge/controllers';
import { expect } from 'chai';
import { asObject, StatusError } from 'kedge';
import { httpStatuses } from 'kedge/server';
import { root } from '../acceptance/daemon.js';
import { type CheckOf, ValidatedApi } from './validated-api.js';
import { call, type LookingRule, type Refusal, type WriteCall } from './looking-rule.js';
import { lookingRules } from './rules.js';

type Outcome = { readonly status: number; readonly message: string };
type Way = (api: ValidatedApi, write: WriteCall) => Promise<Outcome>;

const rest: Way = async (api, write) => {
  const { status, body } = await call(api, write);
  return { status, message: typeof body.message === 'string' ? body.message : '' };
};

function objectOf({ path, body }: WriteCall): { readonly name: string } {
  const namespace = /^\/v1\/namespaces\/([^/]+)\//.exec(path)?.[1];
  return { name: '', ...body, ...(namespace === undefined ? {} : { namespace }) };
}

const cast: Way = (api, write) => {
  const objects = [{ kind: write.kind, object: objectOf(write) }];
  return rest(api, { ...write, path: '/v1/cast', body: { objects } });
};

const transaction: Way = async (api, write) => {
  await using store = await api.remote(write.token);
  const kind = allKinds.find((known) => known.kind === write.kind);
  if (!kind) throw new Error(`${String(write.kind)} is not a kind`);
  try {
    await store.transact([{ op: 'create', kind, object: asObject(objectOf(write)) }]);
    return { status: 200, message: '' };
  } catch (error) {
    const { code, message } = StatusError.from(error);
    return { status: httpStatuses[code], message };
  }
};

function expectRefused({ status, message }: Outcome, refused: Refusal): void {
  expect({ status, message }).to.have.property('status', refused.status);
  expect(message).to.match(refused.message);
}

/** `held` is validated and waits, `other` is stored, then `held` continues. */
async function interleave(
  rule: LookingRule,
  held: WriteCall,
  other: WriteCall,
  { way = rest, without }: { readonly way?: Way; readonly without?: CheckOf } = {},
): Promise<Outcome & { readonly attempts: readonly number[] }> {
  await using api = await ValidatedApi.start(without ? { without } : {});
  await rule.given?.(api);
  api.attempts.length = 0;
  const hold = api.hold();
  const outcome = way(api, held);
  await Promise.race([
    hold.judged,
    outcome.then(({ message }) => Promise.reject(new Error(message))),
  ]);
  expect(await rest(api, other), 'the other write').to.deep.include({ status: 200 });
  hold.release();
  return { ...(await outcome), attempts: api.attempts };
}

async function inOrder(rule: LookingRule, first: WriteCall, second: WriteCall): Promise<Outcome> {
  await using api = await ValidatedApi.start();
  await rule.given?.(api);
  expect(await rest(api, first), 'the first write').to.deep.include({ status: 200 });
  return await rest(api, second);
}

describe('rules that read other objects', () => {
  for (const rule of lookingRules)
    describe(rule.rule, () => {
      const { write, against, refused, mirrored, guard } = rule;

      it('is validated again if the object that it read changes before the commit', async () => {
        expectRefused(await interleave(rule, write, against), refused);
      });

      it('accepts the write if its check is omitted', async () => {
        const { status, message } = await interleave(rule, write, against, { without: guard });
        expect(status, message).to.equal(200);
      });

      it('refuses the write that comes after', async () => {
        expectRefused(await inOrder(rule, against, write), refused);
      });

      if (write.kind !== undefined)
        for (const [name, way] of Object.entries({ cast, transaction }))
          it(`holds in a ${name} alike`, async () => {
            expectRefused(await interleave(rule, write, against, { way }), refused);
          });

      if (!mirrored) {
        it('has no mirror: the other order is allowed', async () => {
          const { status, message } = await inOrder(rule, write, against);
          expect(status, message).to.equal(200);
        });
        return;
      }

      it('its mirror is validated again too', async () => {
        expectRefused(await interleave(rule, against, write), mirrored);
      });

      it('its mirror accepts the write if its check is omitted', async () => {
        const without = mirrored.guard;
        const { status, message } = await interleave(rule, against, write, { without });
        expect(status, message).to.equal(200);
      });

      it('its mirror refuses the write that comes after', async () => {
        expectRefused(await inOrder(rule, write, against), mirrored);
      });
    });

  it('are those of docs/reference/admission.md, in its order', () => {
    const text = readFileSync(join(root, 'docs/reference/admission.md'), 'utf8');
    const [, table = ''] = text.split('| Rule ');
    const rows = table
      .split('\n')
      .slice(1)
      .filter((line) => line.startsWith('| ') && !line.startsWith('| -'))
      .map((line) =>
        line
          .slice(2, -2)
          .split(' | ')
          .map((cell) => cell.trim()),
      );
    const cells = lookingRules.map(({ rule, reads, check, mirror }) => [
      rule,
      reads,
      check,
      mirror,
    ]);
    expect(rows).to.deep.equal(cells);
  });
});

describe('validated writes', () => {
  it('under contention are validated a bounded number of times, then Aborted names the conflicting object', async () => {
    let contended = false;
    await using api = await ValidatedApi.start({ contended: () => contended });
    contended = true;
    const body = { name: 'v', size: '1Gi', accessMode: 'ReadWriteOnce', storageClassName: 'local' };
    const path = '/v1/namespaces/default/volumes';
    const { status, body: answer } = await api.rest('POST', path, body);
    expect(status).to.equal(409);
    expect(answer).to.include({ reason: 'Contention' });
    expect(answer.message).to.match(/validated 12 times.*Namespace "default"/);
    expect(api.attempts).to.deep.equal(Array.from({ length: 12 }, (_, n) => n + 1));
    contended = false;
    expect((await api.rest('POST', path, body)).status).to.equal(200);
  });

  it("a caller's own stale version is reported at once", async () => {
    await using api = await ValidatedApi.start();
    const path = '/v1/storageclasses/local';
    const body = { name: 'local', driver: 'local', metadata: { resourceVersion: '1' } };
    const answer = await api.rest('PUT', path, body);
    expect(answer.status).to.equal(409);
    expect(answer.body).to.include({ reason: 'Conflict' });
    expect(api.attempts).to.deep.equal([]);
  });

  it('a dry run is validated and stores nothing', async () => {
    await using api = await ValidatedApi.start();
    const before = api.store.revision;
    const path = '/v1/storageclasses?dryRun=true';
    const made = await api.rest('POST', path, { name: 'c', driver: 'local', default: true });
    expect(made.status).to.equal(200);
    const taken = await api.rest('POST', path, { name: 'local', driver: 'local' });
    expect(taken.status).to.equal(409);
    expect(api.store.revision).to.equal(before);
  });

  it('12 parallel creations with default: true make exactly one default', async () => {
    await using api = await ValidatedApi.start();
    const made = await Promise.all(
      Array.from({ length: 12 }, (_, n) =>
        api.rest('POST', '/v1/storageclasses', { name: `c${n}`, driver: 'local', default: true }),
      ),
    );
    const codes = made.map(({ status }) => status).sort();
    expect(codes).to.deep.equal([200, ...Array.from({ length: 11 }, () => 400)]);
  });

  it('parallel setDefault leave exactly one default', async () => {
    await using api = await ValidatedApi.start();
    const names = ['a', 'b', 'c', 'd'];
    for (const name of names) await api.ok('POST', '/v1/storageclasses', { name, driver: 'local' });
    const moved = await Promise.all(
      names.map((name) => api.rest('POST', `/v1/storageclasses/${name}:setDefault`, {})),
    );
    expect(moved.map(({ status }) => status)).to.deep.equal([200, 200, 200, 200]);
    const { items } = await api.ok('GET', '/v1/storageclasses');
    const defaults = (items as { default: boolean }[]).filter((item) => item.default);
    expect(defaults).to.have.length(1);
  });

  it('a change of one field loses no other change made meanwhile', async () => {
    await using api = await ValidatedApi.start();
    const path = '/v1/namespaces/default/services';
    const service = { name: 's', runtime: 'process', command: ['old'], scale: 1 };
    await api.ok('POST', path, service);
    const hold = api.hold();
    const scaled = api.rest('POST', `${path}/s:scale`, { scale: 3 });
    await hold.judged;
    await api.ok('PUT', `${path}/s`, { ...service, command: ['new'] });
    hold.release();
    expect((await scaled).body).to.deep.include({ scale: 3, command: ['new'] });
  });

  it('a cast checks the version of an object that its rules read and that it does not change', async () => {
    await using api = await ValidatedApi.start();
    await api.ok('POST', '/v1/storageclasses', { name: 'c', driver: 'local' });
    const { metadata: _, ...object } = await api.ok('GET', '/v1/storageclasses/c');
    const volume = { name: 'v', size: '1Gi', accessMode: 'ReadWriteOnce', storageClassName: 'c' };
    const objects = [
      { kind: 'StorageClass', object },
      { kind: 'Volume', object: volume },
    ];
    const hold = api.hold();
    const cast = api.rest('POST', '/v1/cast', { objects });
    await hold.judged;
    await api.ok('DELETE', '/v1/storageclasses/c');
    hold.release();
    const { results } = (await cast).body as { results: { action: string }[] };
    expect(results.map(({ action }) => action)).to.deep.equal(['created', 'created']);
  });

  it('a status write of fields that no rule read causes no conflict', async () => {
    await using api = await ValidatedApi.start();
    const volumes = '/v1/namespaces/default/volumes';
    const volume = {
      name: 'v',
      size: '1Gi',
      accessMode: 'ReadWriteOnce',
      storageClassName: 'local',
    };
    await api.ok('POST', volumes, volume);
    const hold = api.hold();
    const claim = { name: 'm', mountPath: '/m', claim: { name: 'v' } };
    const made = api.rest('POST', '/v1/namespaces/default/services', {
      name: 's',
      runtime: 'container',
      image: 'x',
      volumes: [claim],
    });
    await hold.judged;
    await api.ok('PUT', `${volumes}/v/status`, { reason: 'Told', attempts: 3 });
    hold.release();
    expect((await made).status).to.equal(200);
    expect(api.refusedCommits).to.deep.equal([]);
  });

  it('50 clients that create volumes receive no Aborted, and no commit is refused', async function () {
    const count = Number(process.env['KEDGE_ADMISSION_VOLUMES'] ?? 500);
    this.timeout(Math.max(60_000, count * 60));
    await using api = await ValidatedApi.start();
    let next = 0;
    const failed: unknown[] = [];
    const client = async (): Promise<void> => {
      for (let n = (next += 1); n <= count; n = next += 1) {
        const { status, body } = await api.rest('POST', '/v1/namespaces/default/volumes', {
          name: `v-${n}`,
          size: '1Mi',
          accessMode: 'ReadWriteOnce',
          storageClassName: 'local',
        });
        if (status !== 200) failed.push(body);
      }
    };
    await Promise.all(Array.from({ length: 50 }, client));
    expect(failed).to.deep.equal([]);
    expect(api.refusedCommits).to.deep.equal([]);
    process.stdout.write(`      ${count} volumes; KEDGE_ADMISSION_VOLUMES sets how many\n`);
  });
});
