import { expect } from 'chai';
import { kindNamed } from '../connection/api.js';
import { descriptionOf } from './description.js';

describe('the description of an object without a description of the server', () => {
  it('has titles for its fields, and one line for each object of a list', () => {
    const { fields, ...head } = descriptionOf(kindNamed('policy'), {
      name: 'readers',
      description: '',
      rules: [
        { resources: ['volumes', 'services'], verbs: ['get', 'list'] },
        { resources: ['*'], verbs: ['get'] },
      ],
      serviceRules: [],
      metadata: { uid: 'u', createdAt: '2026-11-01T00:00:00Z' },
    });
    expect(head).to.deep.equal({
      kind: 'Policy',
      namespace: '',
      name: 'readers',
      status: 'Stored',
    });
    expect(fields).to.deep.equal([
      { name: 'Rules 1', value: 'resources=volumes, services; verbs=get, list' },
      { name: 'Rules 2', value: 'resources=*; verbs=get' },
      { name: 'Service rules', value: 'none' },
      { name: 'Created at', value: '2026-11-01T00:00:00Z' },
    ]);
  });
});
