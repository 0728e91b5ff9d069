import { isBefore } from './cases.js';
import type { Scene } from './scene.js';
import type { World } from './world.js';

/** The secret of a case: the driver's, or the workload's. */
export function secretOf({ one }: Scene): string {
  const ofWorkload = one.from === 'Service' || one.from === 'Instance';
  return ofWorkload ? 'settings' : 'token';
}

/** The volume of a case. */
function volumeOf({ one }: Scene): string {
  return one.from === 'Snapshot' ? 'base' : 'v';
}

/** Names by which a message can refer to the dependency. */
export function namesOf(scene: Scene): readonly string[] {
  switch (scene.one.broken.to) {
    case 'Namespace':
      return [scene.namespace];
    case 'StorageClass':
      return [scene.storageClass];
    case 'Secret':
      return [secretOf(scene)];
    case 'Configmap':
      return ['conf'];
    case 'Volume':
      return [`${scene.namespace}/${volumeOf(scene)}`];
    case 'Snapshot':
      return [`${scene.namespace}/snap`];
    case 'Service':
    case 'Instance':
      return ['web'];
    case 'Node':
      return ['node n1', 'nodeSelector', 'web-'];
    case 'home':
      return ['node n1', 'node "n1"', 'no node has', 'base" is Pending'];
    case 'driver':
      return [
        'the provider answers',
        'driver disk',
        'being attached',
        'being detached',
        'did not finish the operation',
        'Pending',
      ];
    case 'runtime':
      return ['the runtime does not answer', 'the image can not be run', 'SIGTERM sent', 'started'];
  }
}

/** Creates everything that the subject of the scene needs, except what the case omits. */
export async function prepare(scene: Scene): Promise<void> {
  const { one } = scene;
  const { to } = one.broken;
  const early = isBefore(one.broken);
  const wrong = one.broken.breakage === 'wrong';
  if (early && to === 'home' && scene.world.isUp('n1')) await loseNode(scene.world);
  await scene.makeNamespace();
  await scene.makeClass();
  const driverSecretLate = early && to === 'Secret' && secretOf(scene) === 'token';
  // A snapshot is taken of an existing source: its secret is broken after that.
  if (!driverSecretLate || one.from === 'Snapshot') await scene.makeSecret('token');
  else if (wrong) await scene.makeSecret('token', false);
  const inputs = early && (to === 'Secret' || to === 'Configmap') ? to : undefined;
  if (inputs !== 'Secret' || secretOf(scene) !== 'settings') await scene.makeSecret('settings');
  else if (wrong) await scene.makeSecret('settings', false);
  if (inputs !== 'Configmap') await scene.makeConfigmap();
  else if (wrong) await scene.makeConfigmap(false);
  const ownSource = one.from === 'Snapshot' && one.phase !== 'Pending';
  if (ownSource || (one.from === 'Volume' && to === 'Snapshot')) await scene.makeVolume('base');
  const claims = one.from === 'Service' || one.from === 'Instance' || one.from === 'Namespace';
  const volumeLate = early && to === 'Volume';
  if (claims && !volumeLate) await scene.makeVolume('v');
  if (claims && volumeLate && wrong) {
    scene.world.provider.hold(scene.namespace, 'provision', 'PermissionDenied');
    await scene.makeVolume('v');
  }
}

/** Creates the dependencies that need a finished preparation. */
export async function prepareMore(scene: Scene): Promise<void> {
  const { from, broken, phase } = scene.one;
  if (from === 'Volume' && broken.to === 'Snapshot') {
    if (broken.breakage === 'wrong')
      scene.world.provider.hold(scene.namespace, 'createSnapshot', 'PermissionDenied');
    await scene.makeSnapshot();
  }
  if (from === 'Snapshot' && isBefore(broken) && broken.to === 'Secret') {
    await scene.remove('/secrets/token');
    if (broken.breakage === 'wrong') await scene.makeSecret('token', false);
  }
  if (broken.to === 'StorageClass' && broken.breakage === 'wrong' && phase !== 'Pending')
    await scene.openClass(false);
  if (broken.to === 'StorageClass' && broken.breakage === 'wrong' && from !== 'Volume')
    await scene.openClass(false);
}

/** Deletes the dependency of the subject by the API. */
function removeTarget(scene: Scene) {
  const { world } = scene;
  switch (scene.one.broken.to) {
    case 'Namespace':
      return world.rest('DELETE', `/namespaces/${scene.namespace}?cascade=true`);
    case 'StorageClass':
      return world.rest('DELETE', `/storageclasses/${scene.storageClass}?force=true`);
    case 'Secret':
      return scene.remove(`/secrets/${secretOf(scene)}`);
    case 'Configmap':
      return scene.remove('/configmaps/conf');
    case 'Volume':
      return scene.remove(`/volumes/${volumeOf(scene)}`);
    case 'Snapshot':
      return scene.remove('/snapshots/snap');
    case 'Service':
      return scene.remove('/services/web');
    case 'Instance':
      return scene.remove('/instances/web-0');
    default:
      throw new TypeError(`${scene.one.broken.to} is not an object`);
  }
}

/** A snapshot is bound to its time of creation, so a Failed one is retried by a command only. */
export async function retrySnapshot(scene: Scene): Promise<void> {
  await scene.world.rest('POST', scene.path('/snapshots/snap:retry'), {});
}

/** Creates the dependency of the subject if it does not exist, or corrects it: a secret or configmap is replaced. */
async function makeTarget(scene: Scene): Promise<void> {
  const { one, world } = scene;
  switch (one.broken.to) {
    case 'StorageClass':
      if (!(await world.get(`/storageclasses/${scene.storageClass}`))) await scene.makeClass();
      return scene.openClass(true);
    case 'Secret':
      await scene.remove(`/secrets/${secretOf(scene)}`);
      return scene.makeSecret(secretOf(scene));
    case 'Configmap':
      await scene.remove('/configmaps/conf');
      return scene.makeConfigmap();
    case 'Volume':
      world.provider.hold(scene.namespace, 'provision', undefined);
      await scene.makeVolume(volumeOf(scene));
      return;
    case 'Snapshot':
      world.provider.hold(scene.namespace, 'createSnapshot', undefined);
      if (!(await scene.get('/volumes/base'))) await scene.makeVolume('base');
      await scene.makeSnapshot();
      await retrySnapshot(scene);
      return;
    case 'Service':
      await scene.makeService({ template: true });
      return;
    default:
      return;
  }
}

async function breakNode({ world, one }: Scene): Promise<void> {
  const { breakage } = one.broken;
  if (breakage !== 'deletedAlive') world.kill('n1');
  if (breakage !== 'silent') await world.rest('DELETE', '/nodes/n1');
}

async function loseNode(world: World): Promise<void> {
  world.kill('n1');
  await world.ok('DELETE', '/nodes/n1');
}

/** Breaks the dependency unless it is broken from the beginning. Returns the refusal if a rule refuses the deletion. */
export async function breakDependency(scene: Scene): Promise<string | undefined> {
  const { world, one, namespace } = scene;
  const { broken } = one;
  if (isBefore(broken)) return undefined;
  switch (broken.to) {
    case 'driver':
      world.provider.broken.set(namespace, broken.breakage);
      return undefined;
    case 'runtime':
      scene.onMachines(({ faults }) => faults.set(namespace, broken.breakage));
      return undefined;
    case 'Node':
    case 'home':
      await breakNode(scene);
      return undefined;
    default: {
      const { status, body } = await removeTarget(scene);
      return status === 200 || status === 404 ? undefined : String(body['message']);
    }
  }
}

/** Immediately recreates a dependency, or creates a late one, before anything else happens. */
export async function comeBack(scene: Scene): Promise<void> {
  const { broken } = scene.one;
  if (broken.breakage === 'madeAgain' || broken.breakage === 'late') await heal(scene);
}

/** Repairs the dependency. Idempotent. */
export async function heal(scene: Scene): Promise<void> {
  const { world, one, namespace } = scene;
  switch (one.broken.to) {
    case 'driver':
      world.provider.broken.delete(namespace);
      return;
    case 'runtime':
      scene.onMachines(({ faults }) => faults.delete(namespace));
      return;
    case 'Node':
    case 'home':
      if (!world.isUp('n1')) await world.boot('n1');
      if (one.broken.to === 'Node' && isBefore(one.broken))
        await scene.change('/nodes/n2', (node) => ({
          ...node,
          labels: { ...(node['labels'] as object), [`zone-${namespace}`]: 'here' },
        }));
      return;
    default:
      await makeTarget(scene);
  }
}
