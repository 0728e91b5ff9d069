import { expect } from 'chai';
import { DriverError, type ProviderResource } from '@kedge/driver-sdk';
import type { ClassCall } from './class-call.js';
import { hasProviderHandles, isSameResource, resourceOf } from './second-resource.js';

const resource = (handle: string, identity?: string): ProviderResource => ({
  ...{ type: 'volume', handle, name: 'kedge-u', sizeBytes: 1n },
  ...(identity === undefined ? {} : { identity }),
});

/** A call of a class that finds the handles of one region. */
function callOf(handles: readonly string[], provider: string | undefined = 'cloud'): ClassCall {
  const find = ({ handle }: { readonly handle: string }): Promise<ProviderResource> =>
    handles.includes(handle)
      ? Promise.resolve(resource(handle))
      : Promise.reject(new DriverError('NotFound', `no ${handle}`));
  return { driver: { find, ...(provider ? { provider } : {}) }, request: {} } as never;
}

describe('a second resource of an object', () => {
  it('is another one by its handle, or by its identity if one resource has several handles', () => {
    expect(isSameResource(resource('a'), resource('a'))).to.equal(true);
    expect(isSameResource(resource('a'), resource('b'))).to.equal(false);
    const paths = ['projects/shop/zones/z/disks/d', 'projects/123/zones/z/disks/d'] as const;
    expect(isSameResource(resource(paths[0], '7'), resource(paths[1], '7'))).to.equal(true);
    expect(isSameResource(resource(paths[0], '7'), resource(paths[1], '8'))).to.equal(false);
    // Without the identity of both it is unknown, so that the one in use is not offered.
    expect(isSameResource(resource(paths[0]), resource(paths[1], '8'))).to.equal(true);
  });

  it('is compared with the one in use, which any class of the driver may list', async () => {
    const found = await resourceOf([callOf(['far']), callOf(['near'])], 'near');
    expect(found.handle).to.equal('near');
    const none = await resourceOf([callOf(['far'])], 'near').catch((error: unknown) => error);
    expect(none).to.include({ kind: 'NotFound' });
  });

  it('is not compared for a driver of this machine, whose handles may change', () => {
    expect(hasProviderHandles(callOf([]))).to.equal(true);
    expect(hasProviderHandles(callOf([], ''))).to.equal(false);
  });
});
