import { expect } from 'chai';
import { isDeleting, type ObjectStore } from 'kedge';
import {
  claimedVolume,
  namespaces,
  services,
  snapshots,
  sourceSnapshot,
  storageClasses,
  volumes,
} from '@kedge/controllers';

/** The invariants that the rules of admission preserve, regardless of concurrent writers. */
export async function checkAdmission(store: ObjectStore): Promise<void> {
  const classes = (await store.list(storageClasses)).items;
  const defaults = classes.filter((c) => c.default === true).map((c) => c.name);
  expect(defaults, 'default classes').to.have.length.at.most(1);
  const everyPlace = (await store.list(namespaces)).items;
  const places = new Set(everyPlace.map((n) => n.name));
  const terminating = new Set(everyPlace.filter(isDeleting).map((n) => n.name));
  const all = (await store.list(volumes)).items;
  const users = (await store.list(services)).items.filter((s) => !isDeleting(s));
  const claimed = users.flatMap(({ volumes: mounts = [], namespace, scale = 1 }) =>
    scale > 1
      ? mounts.map((m) => JSON.stringify(claimedVolume(m.claim?.name ?? '', namespace)))
      : [],
  );
  for (const volume of all) {
    const { namespace, name, storageClassName, parameters = {}, attachments = [] } = volume;
    const label = `${namespace}/${name}`;
    expect(places.has(namespace), `${label}: its namespace`).to.equal(true);
    expect(claimed, `${label}: claimed by several`).to.not.include(
      JSON.stringify({ namespace, name }),
    );
    if (isDeleting(volume))
      expect(attachments, `${label}: users while it is being deleted`).to.deep.equal([]);
    const named = classes.find((c) => c.name === storageClassName);
    expect(named, `${label}: its class ${storageClassName}`).to.not.equal(undefined);
    const basis = { ...named?.parameters, ...parameters };
    expect(basis, `${label}: parameters with those of ${storageClassName}`).to.have.property(
      'zone',
    );
  }
  for (const snapshot of (await store.list(snapshots)).items) {
    const { namespace, name, source, status = 'Pending' } = snapshot;
    expect(places.has(namespace), `${name}: its namespace`).to.equal(true);
    // A Failed snapshot is Pending again after a retry, even without its source.
    const untried = status === 'Pending' && !snapshot.driver && !snapshot.lastOperation;
    if (isDeleting(snapshot) || !untried) continue;
    const of = all.find((v) => v.namespace === namespace && v.name === source.volume);
    expect(of && !isDeleting(of), `${name}: its source ${source.volume}`).to.equal(true);
  }
  for (const volume of all) {
    const from = sourceSnapshot(volume);
    const untried = (volume.status ?? 'Pending') === 'Pending' && !volume.lastOperation;
    // The cascade of a namespace deletes its snapshots before the volumes that are created from them.
    if (!from || isDeleting(volume) || terminating.has(volume.namespace) || !untried) continue;
    const source = await store.get(snapshots, from);
    expect(source && !isDeleting(source), `${volume.name}: its source ${from.name}`).to.equal(true);
  }
}
