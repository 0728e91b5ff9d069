import { expect } from 'chai';
import type { Lister } from 'kedge';
import type { Configmap } from '../../configmap/kind.js';
import type { Instance } from '../../instance/kind.js';
import type { Secret } from '../../secret/kind.js';
import { Sealer } from '../../secret/index.js';
import { environmentOf } from './environment.js';

const metadata = { uid: 'u', resourceVersion: '1', generation: 1, createdAt: '', updatedAt: '' };

describe('the variables of a workload', () => {
  const data: Record<string, Readonly<Record<string, string>>> = {
    one: { A: 'one', B: 'one' },
    two: { B: 'two', C: 'two' },
    nul: { A: 'usable', KEY: 'before\0confidential' },
    long: { KEY: 'confidential'.repeat(12_000) },
    fits: { KEY: 'x'.repeat(130_000) },
  };
  const of = (template: Instance['template']) => {
    const instance = { name: 's-1', namespace: 'ns', service: 's', ordinal: 1, template, metadata };
    const get = (key: string) => {
      const name = key.replace(/^ns\//, '');
      return data[name] && { name, namespace: 'ns', data: data[name], metadata };
    };
    return environmentOf(instance, {
      configmaps: { get } as unknown as Lister<Configmap>,
      secrets: { get: () => undefined } as unknown as Lister<Secret>,
      sealer: new Sealer(Buffer.alloc(32)),
    });
  };

  it('are those of its name, of each source with its prefix, and of env; later ones replace earlier ones', () => {
    const envFrom = [
      { configmap: 'one' },
      { configmap: 'two' },
      { configmap: 'one', prefix: 'P_' },
    ];
    const env = { C: 'env', KEDGE_ORDINAL: 'mine' };
    expect(of({ envFrom, env })).to.deep.equal({
      type: 'ready',
      env: {
        ...{ KEDGE_INSTANCE: 's-1', KEDGE_SERVICE: 's', KEDGE_NAMESPACE: 'ns' },
        ...{ KEDGE_ORDINAL: 'mine', A: 'one', B: 'two', C: 'env', P_A: 'one', P_B: 'one' },
      },
    });
    expect(of({ envFrom: [{ secret: 'one' }] })).to.include({ type: 'missing' });
  });

  it('are refused for a value that a variable can not have, by a message without the value', () => {
    for (const [configmap, reason] of [
      ['nul', 'its value must not contain a NUL character'],
      ['long', 'its name and value have 144005 bytes; a variable has at most 131000'],
    ] as const) {
      const outcome = of({ envFrom: [{ configmap, prefix: 'P_' }] });
      const message = outcome.type === 'missing' ? outcome.message : '';
      expect(message).to.equal(
        `envFrom: configmap ns/${configmap} can't be used as variables because of its key "KEY": ${reason}; change the key or its value, or mount the object as files (configmapMounts) and remove it from envFrom`,
      );
    }
    expect(of({ envFrom: [{ configmap: 'fits' }] })).to.include({ type: 'ready' });
  });
});
