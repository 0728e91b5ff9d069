import { expect } from 'chai';
import { DriverError, type Operations } from '@kedge/driver-sdk';
import { Fields, machineClock, type ProviderClock } from '@kedge/driver-sdk/provider';
import { Cloud3Api } from './api.js';
import { Cloud3Attachments } from './attachments.js';
import { BatchedReads } from './batch.js';
import type { Ec2Client } from './client.js';
import type { Ec2Caller } from './parameters.js';
import { VolumeReads } from './reads.js';
import { Cloud3Volumes } from './volumes.js';

type Answer = object | DriverError;

/** A provider with prepared answers: each call of an action gets the next one, and the last one is repeated. */
class Prepared {
  readonly answers: Record<string, Answer[]>;
  readonly made: { readonly action: string; readonly input: Record<string, unknown> }[] = [];
  readonly kept = new Map<string, string>();
  now = machineClock.now();

  constructor(answers: Record<string, Answer[]>) {
    this.answers = { DescribeVolumes: [{ Volumes: [] }], ...answers };
  }

  get api(): Cloud3Api {
    const call = async (_: unknown, action: string, input: Record<string, unknown>) => {
      this.made.push({ action, input });
      const list = this.answers[action] ?? [];
      const answer = (list.length > 1 ? list.shift() : list[0]) ?? {};
      if (answer instanceof DriverError) throw answer;
      return new Fields(action, answer, false);
    };
    const client = { call, identity: () => 'one', provider: { clock: this.#clock } };
    return new Cloud3Api(client as unknown as Ec2Client);
  }

  get volumes(): Cloud3Volumes {
    const { api } = this;
    return new Cloud3Volumes(api, new VolumeReads(api), this.#clock, 'cluster');
  }

  get #clock(): ProviderClock {
    return { ...machineClock, now: () => this.now };
  }

  get request(): never {
    const operations: Operations = {
      get: async (kind) => this.kept.get(kind),
      set: async (kind, value) => void this.kept.set(kind, value),
      clear: async (kind) => void this.kept.delete(kind),
    };
    return {
      volume: { uid: 'u-1', namespace: 'default', name: 'data' },
      parameters: { region: 'eu-central-1', availabilityZone: 'eu-central-1a' },
      signal: new AbortController().signal,
      ...{ operations, topology: {}, sizeBytes: 1n, node: 'worker-1', instance: 'i-1' },
    } as never;
  }

  of(action: string): readonly Record<string, unknown>[] {
    return this.made.filter((one) => one.action === action).map(({ input }) => input);
  }
}

const volume = (VolumeId: string, State: string, Attachments: readonly object[] = []): object => ({
  ...{ VolumeId, State, Size: 1, AvailabilityZone: 'eu-central-1a', Attachments },
  Tags: [{ Key: 'svc.io/volume-id', Value: 'u-1' }],
});
const silent = new DriverError('Timeout', 'no answer');
const kindOf = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    (answer) => answer,
    (thrown: unknown) => DriverError.from(thrown).kind,
  );

describe('attempts of cloud3-block without an answer', () => {
  for (const kind of ['Throttled', 'QuotaExceeded', 'PermissionDenied'] as const)
    it(`are known to a deletion after a retry that is refused (${kind})`, async () => {
      const cloud = new Prepared({ CreateVolume: [silent, new DriverError(kind, 'refused')] });
      expect(await kindOf(cloud.volumes.provision(cloud.request))).to.equal('Timeout');
      expect(await kindOf(cloud.volumes.provision(cloud.request))).to.equal(kind);
      expect(await cloud.volumes.delete(cloud.request)).to.include({ type: 'pending' });
    });

  it('leave nothing behind if the only attempt is refused', async () => {
    const cloud = new Prepared({ CreateVolume: [new DriverError('QuotaExceeded', 'refused')] });
    expect(await kindOf(cloud.volumes.provision(cloud.request))).to.equal('QuotaExceeded');
    expect(await cloud.volumes.delete(cloud.request)).to.equal(undefined);
  });

  for (const state of ['deleting', 'deleted'])
    it(`are repeated with another token if their volume is ${state}`, async () => {
      const made = [silent, volume('vol-1', state), volume('vol-2', 'available')];
      const cloud = new Prepared({ CreateVolume: made });
      expect(await kindOf(cloud.volumes.provision(cloud.request))).to.equal('Timeout');
      expect(await cloud.volumes.provision(cloud.request)).to.include({ type: 'pending' });
      expect(await cloud.volumes.provision(cloud.request)).to.include({ handle: 'vol-2' });
      const tokens = cloud.of('CreateVolume').map((input) => input['ClientToken']);
      expect(tokens[0]).to.equal(tokens[1]);
      expect(tokens[2]).not.to.equal(tokens[1]);
    });

  it('are not repeated because one read misses their volume, however late the read is', async () => {
    const found = { Volumes: [volume('vol-1', 'available')] };
    const none = { Volumes: [] };
    const cloud = new Prepared({
      CreateVolume: [volume('vol-1', 'creating')],
      DescribeVolumes: [none, none, found],
    });
    expect(await cloud.volumes.provision(cloud.request)).to.include({ type: 'pending' });
    // The process was down for an hour.
    cloud.now += 3_600_000;
    expect(await cloud.volumes.provision(cloud.request)).to.include({ type: 'pending' });
    cloud.now += 2_000;
    expect(await cloud.volumes.provision(cloud.request)).to.include({ handle: 'vol-1' });
    expect(cloud.of('CreateVolume')).to.have.length(1);
  });

  it('are repeated with another token once their volume is missing for a minute', async () => {
    const cloud = new Prepared({
      CreateVolume: [volume('vol-1', 'creating'), volume('vol-2', 'available')],
    });
    const provision = () => kindOf(cloud.volumes.provision(cloud.request));
    expect(await provision()).to.include({ type: 'pending' });
    expect(await provision()).to.include({ type: 'pending' });
    cloud.now += 59_000;
    expect(await provision()).to.include({ type: 'pending' });
    cloud.now += 1_000;
    expect(await provision()).to.equal('Unavailable');
    expect(await provision()).to.include({ handle: 'vol-2' });
    const tokens = cloud.of('CreateVolume').map((input) => input['ClientToken']);
    expect(new Set(tokens).size).to.equal(2);
  });

  it('do not stop a deletion while the volume of an earlier attempt is still deleted', async () => {
    const both = { Volumes: [volume('vol-1', 'deleting'), volume('vol-2', 'available')] };
    const cloud = new Prepared({ DescribeVolumes: [both] });
    expect(await cloud.volumes.delete(cloud.request)).to.include({ type: 'pending' });
    expect(cloud.of('DeleteVolume')).to.deep.equal([{ VolumeId: 'vol-2' }]);
  });

  it('of attachments are known to a detach after a retry that finds the volume in use', async () => {
    const instance = { InstanceId: 'i-1', Placement: { AvailabilityZone: 'eu-central-1a' } };
    const cloud = new Prepared({
      DescribeVolumes: [{ Volumes: [volume('vol-1', 'available')] }],
      DescribeInstances: [{ Reservations: [{ Instances: [instance] }] }],
      AttachVolume: [silent, new DriverError('InUse', 'already attached')],
    });
    const { api } = cloud;
    const attachments = new Cloud3Attachments(api, new VolumeReads(api), machineClock);
    const request = { ...(cloud.request as object), handle: 'vol-1' } as never;
    expect(await kindOf(attachments.attach(request, '/dev/link'))).to.equal('Timeout');
    expect(await kindOf(attachments.attach(request, '/dev/link'))).to.equal('Throttled');
    expect(await attachments.detach(request)).to.include({ type: 'pending' });
  });
});

describe('shared reads of cloud3-block', () => {
  it('end for a cancelled caller, and continue for the others', async () => {
    let answer: (found: ReadonlyMap<string, readonly string[]>) => void = () => undefined;
    const reads = new BatchedReads<string>(() => new Promise((resolve) => (answer = resolve)));
    const cancelled = new AbortController();
    const callerOf = (about: string, signal: AbortSignal): Ec2Caller => ({
      ...{ region: 'eu-central-1', keys: undefined, about, signal },
    });
    const of = (value: string, signal: AbortSignal): Promise<readonly string[]> =>
      reads.of('lane', callerOf(value, signal), value);
    const one = kindOf(of('vol-1', cancelled.signal));
    const other = of('vol-2', new AbortController().signal);
    await new Promise(setImmediate);
    const waiting = kindOf(of('vol-3', cancelled.signal));
    cancelled.abort();
    expect(await Promise.all([one, waiting])).to.deep.equal(['Timeout', 'Timeout']);
    answer(new Map([['vol-2', ['found']]]));
    expect(await other).to.deep.equal(['found']);
  });
}).timeout(5_000);
