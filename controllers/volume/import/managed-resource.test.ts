import { expect } from 'chai';
import { DriverError, type ProviderResource } from '@kedge/driver-sdk';
import type { ApiParts, Validation } from 'kedge/server';
import type { ClassCall, InspectionOptions } from '../../inspection/class-call.js';
import { volumes } from '../kind.js';
import { distinctVolumes, requireUnmanaged } from './managed-resource.js';

const spelled = (project: string): string => `projects/${project}/zones/z/disks/mine`;
const disk = (handle: string, identity?: string): ProviderResource => ({
  ...{ type: 'volume', handle, name: 'mine', sizeBytes: 1n },
  ...(identity === undefined ? {} : { identity }),
});
const imported = {
  ...{ namespace: 'shop', name: 'first', driver: 'cloud', importedAs: 'mine' },
  ...{ handle: spelled('shop'), metadata: { uid: 'u1' } },
};

describe('a resource that is imported under a name that another volume was imported from', () => {
  /** The reason of the refusal of an import; undefined if it is permitted. */
  async function refusalOf(
    resource: ProviderResource,
    found: Readonly<Record<string, ProviderResource>>,
  ): Promise<string | undefined> {
    const find = ({ handle }: { readonly handle: string }): Promise<ProviderResource> => {
      const own = found[handle];
      return own ? Promise.resolve(own) : Promise.reject(new DriverError('Unavailable', 'away'));
    };
    const call = {
      driver: { name: 'cloud', provider: 'a cloud', find },
      request: {},
    } as unknown as ClassCall;
    const parts = {
      store: {
        list: (kind: unknown) => Promise.resolve({ items: kind === volumes ? [imported] : [] }),
      },
    } as unknown as ApiParts;
    const values = volumes.indexes?.['importedAs']?.(imported as never);
    const validation = {
      lookupBy: (_kind: unknown, index: string, value: string) =>
        Promise.resolve(index === 'importedAs' && values?.includes(value) ? [imported] : []),
    } as unknown as Validation;
    const options = {
      resolver: { openHandle: (handle: string) => handle },
    } as unknown as InspectionOptions;
    const key = { namespace: 'shop', name: 'second' };
    const distinct = await distinctVolumes(parts, options, call, { key, resource });
    return requireUnmanaged(parts, validation, call, resource, distinct).then(
      () => undefined,
      (error: unknown) => String(error),
    );
  }

  it('is refused if it is the same one by another handle', async () => {
    const refusal = await refusalOf(disk(spelled('123'), '7'), {
      [spelled('shop')]: disk(spelled('shop'), '7'),
    });
    expect(refusal).to.contain('volume "shop/first" was imported from a volume named "mine"');
  });

  it('is refused while the provider does not show whether it is the same one', async () => {
    expect(await refusalOf(disk(spelled('123'), '7'), {})).to.contain('could not be compared');
  });

  it('is permitted if it is another one of that name, or handles are unique', async () => {
    const other = { [spelled('shop')]: disk(spelled('shop'), '8') };
    expect(await refusalOf(disk(spelled('other'), '7'), other)).to.equal(undefined);
    expect(await refusalOf(disk('vol-2'), {})).to.equal(undefined);
  });
});
