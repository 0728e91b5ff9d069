import { expect } from 'chai';
import { DriverError } from '@kedge/driver-sdk';
import type { Cloud1Api } from './api.js';
import { listResources } from './resources.js';

describe('the resources of an account whose list of snapshots fails', () => {
  const volume = { id: 'v', name: 'n', sizeGib: 1, description: '', droplets: [], region: 'fra1' };
  const listed = (failure: DriverError, signal = new AbortController().signal) => {
    const api = {
      snapshots: () => Promise.reject(failure),
      volumes: () => Promise.resolve([volume]),
    } as unknown as Cloud1Api;
    const request = { parameters: { region: 'fra1', apiToken: 't' }, node: 'n', signal, all: true };
    return listResources(api, request, 'c', 'svc.io/region');
  };

  for (const kind of ['Internal', 'Unavailable', 'Throttled', 'Timeout'] as const)
    it(`are its volumes, with a warning, after ${kind}`, async () => {
      const { resources, warnings } = await listed(new DriverError(kind, 'the list failed'));
      expect(resources.map(({ handle }) => handle)).to.deep.equal(['v']);
      expect(warnings).to.deep.equal(['snapshots were not listed: the list failed']);
    });

  it('are not listed for an aborted call', async () => {
    const failure = new DriverError('Timeout', 'aborted');
    const thrown: unknown = await listed(failure, AbortSignal.abort()).catch((one: unknown) => one);
    expect(thrown).to.equal(failure);
  });
});
