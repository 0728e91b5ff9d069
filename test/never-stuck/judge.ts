import type { Answer } from './world.js';
import { isBefore } from './cases.js';
import { namesOf } from './dependencies.js';
import { recipeOf } from './phases.js';
import type { Scene } from './scene.js';

type Body = Answer['body'];

/** What was done to a subject, and how it was answered. */
export interface Deed {
  /** Its deletion was accepted, or that of its namespace. */
  readonly leaves: boolean;
  /** What a rule refused, with the message. */
  readonly refusals: readonly string[];
}

/** Path of the object whose phase the case is about. */
export function subjectPath(scene: Scene): string {
  const { from, broken, phase } = scene.one;
  const owned = broken.to === 'Service' || phase === 'Released';
  switch (from) {
    case 'Volume':
      return scene.path(owned ? '/volumes/data-web-0' : '/volumes/v');
    case 'Snapshot':
      return scene.path('/snapshots/snap');
    case 'Service':
      return scene.path('/services/web');
    case 'Instance':
      return scene.path('/instances/web-0');
    case 'Namespace':
      return `/namespaces/${scene.namespace}`;
    case 'Node':
      return '/nodes/n1';
  }
}

/** Everything that an object tells: messages of conditions, of its failure and of its last operation. */
export function toldBy(object: Body | undefined): string {
  if (!object) return '';
  const { status, reason, failureMessage, lastOperation, conditions } = object;
  const last = lastOperation as { outcome?: string; message?: string } | undefined;
  const all = (conditions ?? []) as readonly { reason: string; message: string; status: string }[];
  const unmet = all.filter(
    (c) => c.status !== 'True' || c.reason === 'InUse' || c.reason === 'Finalizing',
  );
  return [
    status,
    reason,
    failureMessage,
    last && last.outcome !== 'Succeeded' ? `${last.outcome ?? ''} ${last.message ?? ''}` : '',
    ...unmet.map((c) => `${c.reason}: ${c.message}`),
  ]
    .filter((text) => typeof text === 'string' && text !== '')
    .join(' | ');
}

/** Statuses in which a subject that stays is at its end. */
export function endsAs(scene: Scene): readonly string[] {
  const { from, broken, phase } = scene.one;
  switch (from) {
    case 'Volume':
      if (phase === 'Released') return ['Released'];
      return phase === 'Bound' || broken.to === 'Service' ? ['Bound'] : ['Available'];
    case 'Snapshot':
      return ['Ready'];
    case 'Service':
    case 'Instance':
      return ['Running'];
    case 'Namespace':
      return ['Active'];
    case 'Node':
      return ['Ready'];
  }
}

/** Whether something else creates it again once it is gone. */
function comesAgain(scene: Scene): boolean {
  const { from, broken } = scene.one;
  if (broken.to === 'Namespace') return false;
  // A volume of a service is created again as long as that is there.
  return from === 'Instance' || from === 'Node' || (from === 'Volume' && broken.to === 'Service');
}

/** Whether it goes with what it depends on. */
function goesWith({ one }: Scene): boolean {
  const { from, broken } = one;
  if (from === 'Node') return broken.breakage === 'deleted';
  return (from === 'Volume' || from === 'Instance') && broken.to === 'Service';
}

/** What is wrong while the dependency is broken; undefined when nothing is. */
export async function whileBroken(scene: Scene, deed: Deed): Promise<string | undefined> {
  const names = namesOf(scene);
  const object = await scene.world.get(subjectPath(scene));
  const isThere = object !== undefined;
  const goes = deed.leaves || goesWith(scene);
  if (!isThere) return goes ? undefined : 'it is gone, and nobody asked for that';
  const deleting = (object['metadata'] as { deletionRequestedAt?: string }).deletionRequestedAt;
  if (!deleting && endsAs(scene).includes(String(object['status']))) return undefined;
  const told = toldBy(object);
  const known = recipeOf(scene).says?.test(told) ?? false;
  if (known || names.some((name) => told.includes(name))) return undefined;
  return `it is ${deleting ? 'being deleted, ' : ''}and tells neither what it waits for (${names.join(', ')}) nor how to go on: ${told}`;
}

/** What is wrong once everything is right again; undefined when nothing is. */
export async function afterHealing(scene: Scene, deed: Deed): Promise<string | undefined> {
  const object = await scene.world.get(subjectPath(scene));
  const leaves = deed.leaves && !comesAgain(scene);
  if (leaves) return object ? `it is not gone: ${toldBy(object)}` : undefined;
  if (!object) return 'it is gone, and nobody asked for that';
  const status = String(object['status']);
  const wanted = endsAs(scene);
  if (wanted.includes(status)) return undefined;
  const told = toldBy(object);
  // Its source is another one by now: no copy of that was asked for.
  const { from, broken } = scene.one;
  const sourceGone = from === 'Snapshot' && broken.to === 'Volume' && !isBefore(broken);
  if (sourceGone && told.includes('delete this snapshot')) return undefined;
  return `it is ${status} instead of ${wanted.join(' or ')}: ${told}`;
}

/** Statuses of volumes and snapshots that say that the data is there. */
const holdsData: readonly string[] = ['Available', 'Bound', 'Ready'];

function homeWasDeleted({ one: { broken } }: Scene): boolean {
  const { to, breakage } = broken;
  return to === 'home' && (breakage === 'deleted' || breakage === 'madeAgain');
}

/** Disks and snapshots at the provider that no object stands for, or that are missing. */
export async function leaks(scene: Scene): Promise<string | undefined> {
  const { world, namespace } = scene;
  const wrongs: string[] = [];
  for (const [plural, at] of [
    ['volumes', world.provider.disks],
    ['snapshots', world.provider.snapshots],
  ] as const) {
    const { status, body } = await world.rest('GET', scene.path(`/${plural}`));
    const listed = (status === 200 ? (body[plural] ?? body['items'] ?? []) : []) as readonly {
      readonly status: string;
      readonly metadata: { readonly uid: string };
    }[];
    const uids = new Set(listed.map(({ metadata }) => metadata.uid));
    const there = [...at].filter(([, { label }]) => label.startsWith(`${namespace}/`));
    // What policy retain left behind is the data of somebody.
    if (plural === 'volumes' && scene.one.phase === 'Released') {
      if (there.length === 0) wrongs.push('what its policy retains was deleted');
      continue;
    }
    for (const { metadata, status } of listed)
      if (holdsData.includes(status) && !at.has(metadata.uid)) wrongs.push(`the data is gone`);
    // What was on a node that was taken out of the cluster stays there.
    if (homeWasDeleted(scene)) continue;
    for (const [uid, { label }] of there) if (!uids.has(uid)) wrongs.push(`${label} leaked`);
  }
  return wrongs.length > 0 ? wrongs.join(', ') : undefined;
}
