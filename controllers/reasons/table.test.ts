import { expect } from 'chai';
import { unmet } from './reason.js';
import { setCondition } from './set-condition.js';
import { entryOf, reasonTable } from './table.js';
import { run } from './remedy.js';
import { emptyWorld } from './world.js';

describe('the reasons of conditions', () => {
  it('are those of the table: another one does not compile', () => {
    const of = (set: () => unknown) => expect(set()).to.have.lengthOf(1);
    const condition = { type: 'Ready', status: 'False', message: 'm' } as const;
    of(() => setCondition([], { ...condition, reason: 'NoNodeFits' }, ''));
    // @ts-expect-error a reason that the table does not have
    of(() => setCondition([], { ...condition, reason: 'MadeUp' }, ''));
    // @ts-expect-error a reason is not any text
    of(() => setCondition([], { ...condition, reason: String('NoNodeFits') }, ''));
  });

  it('have a remedy if a condition is not met: without one they do not compile', () => {
    const remedy = () => run('kedge cast file.yaml', 'do it');
    expect(unmet('a meaning', remedy).remedy).to.equal(remedy);
    // @ts-expect-error no remedy
    unmet('a meaning');
    // @ts-expect-error a remedy of text alone names no command
    unmet('a meaning', () => ({ type: 'run', text: 'look at the log' }));
  });

  it('StorageRootOfOtherCluster: the remedy names another directory for each refused cluster', () => {
    const of = (cluster: string) =>
      reasonTable.StorageRootOfOtherCluster.remedy({
        kind: 'Node',
        object: { name: 'n', metadata: {} },
        message: `storage root /srv/v belongs to cluster one (/srv/v/.kedge/cluster-id), and this is cluster ${cluster}; mount the right disk there`,
        world: emptyWorld,
      } as never).command;
    expect(of('two')).to.equal('kedged --local-volume-root /srv/v-two');
    expect(of('three')).to.equal('kedged --local-volume-root /srv/v-three');
  });

  it('InUse: the remedy is not a stop of the instance itself if its volume is in use elsewhere', () => {
    const named = { namespace: 'default', metadata: {} };
    const volume = { ...named, name: 'data', attachments: [{ claim: 'default/web-0', node: 'n' }] };
    const of = (name: string) =>
      reasonTable.InUse.remedy({
        kind: 'Instance',
        object: { ...named, name },
        message: 'volume default/data: volume 7 is attached to server 43',
        world: { ...emptyWorld, volumes: [volume] },
      } as never);
    expect(of('web-0')).to.deep.include({
      type: 'wait',
      until: 'once the volume is released there',
      command: 'kedge scale service/web -n default --replicas 0',
    });
    expect(of('other-0')).to.include({ type: 'run' });
  });

  it('VolumeInUse: the remedy for a holder on a silent node is to delete the node, not to stop the service', () => {
    const of = (status: string) =>
      reasonTable.VolumeInUse.remedy({
        kind: 'Instance',
        object: { namespace: 'default', name: 'web-1', service: 'web', metadata: {} },
        message: 'volume default/data is in use by instance default/job-0',
        world: {
          ...emptyWorld,
          instances: [
            { ...{ namespace: 'default', name: 'job-0' }, service: 'job', node: 'n1', status },
          ],
        },
      } as never).command;
    expect(of('Running')).to.equal('kedge scale service/job -n default --replicas 0');
    expect(of('Unknown')).to.equal('kedge delete node/n1');
  });

  it('RestoreInFlight: names a volume of the snapshot, and no volume of a snapshot of that name elsewhere', () => {
    const made = (namespace: string, name: string, snapshot: string) => ({
      ...{ namespace, name, metadata: {}, source: { snapshot } },
    });
    const of = (...volumes: readonly object[]) =>
      reasonTable.RestoreInFlight.remedy({
        kind: 'Snapshot',
        object: { namespace: 'default', name: 's', metadata: {} },
        message: 'm',
        world: { ...emptyWorld, volumes },
      } as never).command;
    const foreign = made('other', 'foreign', 's');
    expect(of(foreign)).to.equal('kedge delete snapshot/s -n default');
    expect(of(foreign, made('other', 'copy', 's.default.svc'))).to.equal(
      'kedge delete volume/copy -n other',
    );
    expect(of(foreign, made('default', 'copy', 's'))).to.equal(
      'kedge delete volume/copy -n default',
    );
  });

  it('are found by their names alone', () => {
    for (const [reason, entry] of Object.entries(reasonTable)) {
      expect(entryOf(reason)).to.equal(entry);
      expect(reason).to.match(/^[A-Z][A-Za-z]+$/);
      expect(entry.meaning, reason).to.not.equal('');
    }
    for (const unknown of ['toString', 'MadeUp', '']) expect(entryOf(unknown)).to.equal(undefined);
  });
});
