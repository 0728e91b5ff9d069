import { expect } from 'chai';
import { FakeClock } from 'kedge/testing';
import { RecordedDevices } from '../core/devices.js';
import type { Emulator } from '../core/emulator.js';
import type { Instance, Token } from '../core/machine.js';
import { createEmulator, type EmulatorOptions } from '../index.js';
import { askCloud3, type Cloud3Answer, type Cloud3Call, type Element, itemsOf } from './client.js';
import { type RefusalName, refusals } from './refusals.js';

/** Two instances of a zone, one of another zone, and one of another region. */
const instances: readonly Instance[] = [
  { name: 'node-1', place: 'eu-central-1a' },
  { name: 'node-2', place: 'eu-central-1a' },
  { name: 'far', place: 'eu-central-1b' },
  { name: 'abroad', place: 'us-east-1a' },
];

type Form = NonNullable<Cloud3Call['form']>;

/** An account of cloud3 on a fake clock, with the calls of a test. An action takes a second. */
export class TestAccount {
  readonly clock = new FakeClock();
  readonly devices = new RecordedDevices();
  readonly emulator: Emulator;
  readonly #key: Token | undefined;

  constructor(choice: Partial<EmulatorOptions> = {}) {
    const { clock, devices } = this;
    const parts = { provider: 'cloud3', clock, devices, instances } as const;
    this.emulator = createEmulator({ ...parts, ...choice }).emulator;
    this.#key = choice.tokens?.[0];
  }

  ask(action: string, form: Form = {}, more: Partial<Cloud3Call> = {}): Promise<Cloud3Answer> {
    const key = this.#key ? { key: this.#key } : {};
    return askCloud3(this.emulator, { action, form, ...key, ...more });
  }

  /** Sends a request that must succeed. */
  async done(action: string, form: Form = {}): Promise<Element> {
    const answer = await this.ask(action, form);
    expect(answer.status, JSON.stringify(answer.body)).to.equal(200);
    return answer.body;
  }

  /** Sends a request that must be refused, and returns the message of the refusal. */
  async refused(name: RefusalName, action: string, form: Form = {}): Promise<string> {
    const answer = await this.ask(action, form);
    const error = (answer.body['Errors'] as Element | undefined)?.['Error'] as Element | undefined;
    const { status, code } = refusals[name];
    expect(
      { status: answer.status, code: error?.['Code'] },
      JSON.stringify(answer.body),
    ).to.deep.equal({
      ...{ status, code },
    });
    return error?.['Message'] as string;
  }

  wait(ms = 1_000): Promise<void> {
    return this.clock.advance(ms);
  }

  /** Creates an available volume and returns its id. */
  async volume(form: Form = {}): Promise<string> {
    const order = { AvailabilityZone: 'eu-central-1a', Size: 10, VolumeType: 'gp3', ...form };
    const { volumeId } = await this.done('CreateVolume', order);
    await this.wait();
    return volumeId as string;
  }

  async described(volume: string): Promise<Element> {
    const [one] = itemsOf(
      await this.done('DescribeVolumes', { 'VolumeId.1': volume }),
      'volumeSet',
    );
    return one as Element;
  }

  /** Returns the id of an instance by its name. */
  async instance(name: string): Promise<string> {
    const form = { 'Filter.1.Name': 'tag:Name', 'Filter.1.Value.1': name };
    const [one] = itemsOf(await this.done('DescribeInstances', form), 'reservationSet');
    const [instance] = itemsOf(one as Element, 'instancesSet');
    return (instance as Element)['instanceId'] as string;
  }

  async attached(volume: string, name = 'node-1', device = '/dev/xvdaa'): Promise<string> {
    const instance = await this.instance(name);
    await this.done('AttachVolume', { VolumeId: volume, InstanceId: instance, Device: device });
    await this.wait();
    return instance;
  }
}
