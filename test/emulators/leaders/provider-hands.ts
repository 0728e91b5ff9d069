import {
  type CallContext,
  type Driver,
  memoryOperations,
  untilOver,
  type VolumeIdentity,
} from '@kedge/driver-sdk';
import { pauseOn, type TransportRequest } from '@kedge/driver-sdk/provider';
import { askCloud3 } from '../cloud3/client.js';
import { ask } from '../core/client.js';
import type { ProviderName } from '../index.js';
import { type EmulatedCloud, here, testToken } from '../sweep/emulated-cloud.js';

/** Parameters of a class that differ from those of the tests, but not in the place of volumes. */
export const shapes = {
  cloud1: { fsType: 'xfs' },
  cloud2: { fsType: 'xfs' },
  cloud3: { volumeType: 'gp2' },
  cloud4: { diskType: 'pd-ssd' },
} as const;

/** The place of a second volume with the same name, where the provider permits one in another place. */
const elsewhere = {
  cloud1: { region: 'nyc3' },
  cloud4: { zone: 'europe-west3-b' },
} as const;

/** Returns the body of a provider's answer to a call that is not permitted, or whose resource does not exist. */
export function refusedBody(provider: ProviderName, status: 403 | 404): string {
  const message = status === 403 ? 'not permitted by the test' : 'not found';
  switch (provider) {
    case 'cloud1':
      return JSON.stringify({ id: status === 403 ? 'forbidden' : 'not_found', message });
    case 'cloud2': {
      const code = status === 403 ? 'forbidden' : 'not_found';
      return JSON.stringify({ error: { code, message, details: null } });
    }
    case 'cloud3': {
      const code = status === 403 ? 'UnauthorizedOperation' : 'InvalidVolume.NotFound';
      return `<Response><Errors><Error><Code>${code}</Code><Message>${message}</Message></Error></Errors><RequestID>r</RequestID></Response>`;
    }
    case 'cloud4': {
      const reason = status === 403 ? 'forbidden' : 'notFound';
      const errors = [{ message, domain: 'global', reason }];
      return JSON.stringify({ error: { code: status, message, errors } });
    }
  }
}

const key = { name: 'sweep', secret: testToken };

/** Provisions a volume for an identity as another program does, without a record in the store. */
export async function provisionBeside(
  cloud: EmulatedCloud,
  driver: Driver,
  volume: VolumeIdentity,
  parameters = cloud.parameters,
): Promise<void> {
  const { signal } = new AbortController();
  const context: CallContext = {
    ...{ volume, parameters, node: here, signal, operations: memoryOperations() },
  };
  const wanted = { sizeBytes: 1n, accessMode: 'ReadWriteOnce', topology: {} } as const;
  await untilOver(
    () => driver.provision({ ...context, ...wanted }),
    (ms) => pauseOn(cloud.clock, ms, signal),
  );
}

/**
 * Creates another volume with the name and mark of one that exists: in another place, or at cloud3 by the same request
 * with another token. The provider of cloud2 permits none.
 */
export async function createSecond(
  cloud: EmulatedCloud,
  driver: Driver,
  volume: VolumeIdentity,
  created: TransportRequest | undefined,
): Promise<void> {
  const { provider, emulator } = cloud;
  if (provider === 'cloud1' || provider === 'cloud4')
    return provisionBeside(cloud, driver, volume, {
      ...cloud.parameters,
      ...elsewhere[provider],
    });
  const form = Object.fromEntries(new URLSearchParams(created?.body));
  const { Action: action = '', Version: _, ...rest } = form;
  const token = { ClientToken: 'of-another-attempt' };
  const { status } = await askCloud3(emulator, { action, form: { ...rest, ...token }, key });
  if (status !== 200) throw new Error(`no second volume: ${status}`);
}

/** Gives a volume another name, or at cloud3 another tag. The other providers have no call that does so. */
export async function changeMark(cloud: EmulatedCloud, id: string): Promise<void> {
  const { provider, emulator } = cloud;
  const name = 'renamed-by-a-person';
  const { status } =
    provider === 'cloud2'
      ? await ask(emulator, { call: `PUT /v1/volumes/${id}`, body: { name }, token: testToken })
      : await askCloud3(emulator, {
          action: 'CreateTags',
          form: { 'ResourceId.1': id, 'Tag.1.Key': 'svc.io/volume-id', 'Tag.1.Value': name },
          key,
        });
  if (status !== 200) throw new Error(`${id} is not renamed: ${status}`);
}

/** Deletes a volume of cloud3 as a person does. */
export async function deleteByHand(cloud: EmulatedCloud, id: string): Promise<void> {
  const form = { VolumeId: id };
  const { status } = await askCloud3(cloud.emulator, { action: 'DeleteVolume', form, key });
  if (status !== 200) throw new Error(`${id} is not deleted: ${status}`);
}
