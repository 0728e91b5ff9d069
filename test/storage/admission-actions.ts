import { type ObjectStore, type Random, sleep } from 'kedge';
import type { FakeClock } from 'kedge/testing';
import {
  namespaces,
  services,
  type Snapshot,
  snapshots,
  storageClasses,
  type Volume,
  volumes,
} from '@kedge/controllers';
import type { ModelApi } from './model-api.js';

/** The inputs of the writes. */
export interface AdmissionPorts {
  readonly api: ModelApi;
  readonly store: ObjectStore;
  readonly random: Random;
  readonly clock: FakeClock;
  /** A name that was not used before. */
  readonly fresh: (prefix: string) => string;
  /** Called with each write that ended, and its error if it failed. */
  readonly note: (line: string) => void;
}

type Write = () => Promise<unknown>;

/** Classes that are created, changed and deleted. */
export const changingClasses = ['c0', 'c1'] as const;
/** The namespace that is created and deleted with its content. */
export const changingNamespace = 'shop';
/** The parameters that the driver of the model requires of class and volume together. */
export const zone = { zone: 'z' } as const;
const token = 'secret:token.default.svc/key';

/** Concurrent writes of users, validated by the rules of the daemon. */
export class AdmissionActions {
  readonly #ports: AdmissionPorts;

  constructor(ports: AdmissionPorts) {
    this.#ports = ports;
  }

  #pick<T>(items: readonly T[]): T | undefined {
    return items[Math.floor(this.#ports.random.next() * items.length)];
  }

  #chance(percent: number): boolean {
    return this.#ports.random.next() * 100 < percent;
  }

  /** Up to three concurrent writes whose rules may read the objects that the others write. */
  async several(): Promise<void> {
    const { store, note } = this.#ports;
    const volume = this.#pick((await store.list(volumes)).items);
    const snapshot = this.#pick((await store.list(snapshots)).items);
    const writes: readonly (readonly [string, Write])[] = [
      ...this.#ofClasses(),
      ...(volume ? this.#ofVolume(volume) : []),
      ...(snapshot ? this.#ofSnapshot(snapshot) : []),
      ...this.#ofNamespace(),
    ];
    // All of one group, in which they conflict most.
    const groups = [this.#ofClasses(), volume ? this.#ofVolume(volume) : [], this.#ofNamespace()];
    const group = this.#chance(80) ? (this.#pick(groups) ?? []) : writes;
    const chosen = [this.#pick(group), this.#pick(group), this.#pick(writes)];
    const done = chosen.map(async (write) => {
      if (!write) return;
      const [name, begin] = write;
      try {
        await begin();
        note(`  ${name}`);
      } catch (error) {
        note(`  ${name}: ${String(error)}`);
      }
    });
    await Promise.all(done);
  }

  #volume(fields: object): Write {
    const { api } = this.#ports;
    const object = { namespace: 'default', size: '1Gi', accessMode: 'ReadWriteOnce', ...fields };
    return () => api.create(volumes, object);
  }

  #ofClasses(): readonly (readonly [string, Write])[] {
    const { api, fresh } = this.#ports;
    const name = this.#pick(changingClasses) ?? 'c0';
    const volume = fresh('w');
    const make = (of: string, fields: object) => (): Promise<unknown> =>
      api.create(storageClasses, {
        name: of,
        driver: 'unreliable',
        reclaimPolicy: 'delete',
        parameters: { token, ...zone },
        ...fields,
      });
    const claims = [{ name: 'data', mountPath: '/data', claim: { name: volume } }];
    const service = { name: fresh('u'), namespace: 'default', image: 'x', scale: 2 };
    return [
      ['default class c0', make('c0', { default: true })],
      ['default class c1', make('c1', { default: true })],
      [`class ${name}`, make(name, {})],
      [
        `${name} default`,
        () => api.change(storageClasses, { name }, { default: this.#chance(70) }),
      ],
      [
        `${name} without zone`,
        () => api.change(storageClasses, { name }, { parameters: { token } }),
      ],
      [`no class ${name}`, () => api.delete(storageClasses, { name })],
      [`volume ${volume} of ${name}`, this.#volume({ name: volume, storageClassName: name })],
      [`volume ${volume} of the default`, this.#volume({ name: volume })],
      [
        `volume ${volume} with a zone`,
        this.#volume({ name: volume, storageClassName: name, parameters: zone }),
      ],
      [`service of ${volume}`, () => api.create(services, { ...service, volumes: claims })],
    ];
  }

  #ofVolume({ namespace, name, storageClassName }: Volume): readonly (readonly [string, Write])[] {
    const { api, fresh } = this.#ports;
    const snapshot = fresh('s');
    const source = { volume: name };
    const again = { name, namespace, storageClassName };
    return [
      [
        `snapshot ${snapshot} of ${name}`,
        () => api.create(snapshots, { name: snapshot, namespace, source }),
      ],
      [`no volume ${name}`, () => api.delete(volumes, { namespace, name })],
      [`volume ${name} again`, this.#volume(again)],
    ];
  }

  #ofSnapshot(snapshot: Snapshot): readonly (readonly [string, Write])[] {
    const { api, fresh } = this.#ports;
    const { namespace, name } = snapshot;
    const copy = fresh('v');
    const source = { snapshot: `${name}.${namespace}.svc` };
    const volume = { name: copy, size: '8Gi', storageClassName: 'delete', source };
    return [
      [`volume ${copy} from ${name}`, this.#volume(volume)],
      [`no snapshot ${name}`, () => api.delete(snapshots, { namespace, name })],
    ];
  }

  #ofNamespace(): readonly (readonly [string, Write])[] {
    const { api, fresh } = this.#ports;
    const name = changingNamespace;
    const volume = { name: fresh('v'), namespace: name, storageClassName: 'delete' };
    return [
      [`namespace ${name}`, () => api.create(namespaces, { name })],
      [`no namespace ${name}`, () => api.delete(namespaces, { name }, this.#chance(50))],
      [`volume ${volume.name} in ${name}`, this.#volume(volume)],
    ];
  }

  /** Deletes a namespace with its content, some of it in use, and creates it again. */
  async cascade(): Promise<void> {
    const { api, clock, random } = this.#ports;
    await api.delete(namespaces, { name: changingNamespace }, true);
    // It is created again within ten seconds.
    await sleep(clock, random.next() * 10_000);
    await api.create(namespaces, { name: changingNamespace });
  }
}
