import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { eventually } from 'kedge/testing';
import type { OperationKind } from '@kedge/driver-sdk';
import { TestDaemon } from '../../acceptance/daemon.js';
import { cleanUp, requireDevices } from '../../drivers/devices.js';
import { ProviderProcess } from '../../drivers/provider/process.js';
import { Scene } from './scene.js';

const program = fileURLToPath(new URL('kedged-of-cloud.js', import.meta.url));
/** Maximum number of polls by the daemon within a case. */
const always = 10_000;
/**
 * Timeout until the next poll of the daemon has taken effect, milliseconds. The interval between polls doubles: on a slow
 * machine the next one may be due in more than a minute.
 */
const nextPollTimeoutMs = 180_000;

describe('an operation whose end the daemon may not observe', function () {
  this.timeout(600_000);
  let folder: string;
  let provider: ProviderProcess;
  let daemon: TestDaemon;
  let scene: Scene;

  before(async function () {
    requireDevices(this);
    folder = await mkdtemp(join(tmpdir(), 'kedge-cloud-'));
    provider = await ProviderProcess.start(folder, { here: 'i-1' });
    daemon = await TestDaemon.start({ program, arguments: ['--provider', folder] });
    await Scene.prepare(daemon);
  });
  beforeEach(async () => {
    await provider.disarm();
    await provider.pace({ type: 'after', ms: 5 });
    scene = new Scene(daemon, provider, 'v');
  });
  after(async () => {
    await daemon.dispose();
    await provider.end();
    await cleanUp(folder);
  });

  /** The operation ends; later ones end by themselves. */
  async function ends(outcome: 'ended' | 'failed'): Promise<void> {
    await provider.pace({ type: 'after', ms: 5 });
    await provider.endAll(outcome);
  }

  /** The volume, Stalled by the operation. */
  async function stalledBy(kind: OperationKind): Promise<Record<string, unknown>> {
    await scene.before(kind);
    await provider.pace({ type: 'onCommand' });
    await provider.arm({ point: 'polled', kind, action: { type: 'deny' } }, always);
    await scene.ask(kind);
    const volume = await eventually('the volume to be Stalled', async () => {
      const { body } = await daemon.rest('GET', '/v1/namespaces/default/volumes/v');
      return body.status === 'Stalled' ? body : undefined;
    });
    expect(volume.failureMessage).to.match(/operation op-\d+ can not be observed/);
    return volume;
  }

  /** The operation in the message of the volume. */
  const operationOf = ({ failureMessage }: Record<string, unknown>): string | undefined =>
    /op-\d+/.exec(String(failureMessage))?.[0];

  it('V8, V20: a creation leaves the volume Stalled, and it is Available once the provider shows the disk', async () => {
    expect((await stalledBy('provision')).handle).to.equal('');
    await ends('ended');
    await scene.after(nextPollTimeoutMs);
  });

  it('V8, V21: a creation that failed unobserved is repeated once the daemon may observe it, and creates one disk', async () => {
    const failed = operationOf(await stalledBy('provision'));
    await ends('failed');
    // Further refused polls would only lengthen the wait for the next one.
    await provider.disarm();
    // The phase may end before it is read; then the message no longer names the failed operation.
    await eventually(
      'V21',
      async () => {
        const { body } = await daemon.rest('GET', '/v1/namespaces/default/volumes/v');
        return body.status === 'Provisioning' || operationOf(body) !== failed;
      },
      nextPollTimeoutMs,
    );
    await scene.after(nextPollTimeoutMs);
  });

  it('V13, V20: an attachment leaves the volume Stalled with its claim, and Bound once its end is observed', async () => {
    const { attachments } = await stalledBy('attach');
    const [attachment] = attachments as readonly object[];
    expect(attachment).to.include({ claim: 'default/v-0', node: 'here', state: 'Reserved' });
    await ends('ended');
    await provider.disarm();
    await scene.after(nextPollTimeoutMs);
  });

  it('V18, V20: a detachment leaves the volume Stalled on its node, and Available once its end is observed', async () => {
    expect((await stalledBy('detach')).boundNode).to.equal('here');
    await ends('ended');
    await provider.disarm();
    await scene.after(nextPollTimeoutMs);
  });
});
