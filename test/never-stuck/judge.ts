import type { Answer } from './world.js';
import { isBefore } from './cases.js';
import { namesOf } from './dependencies.js';
import { recipeOf } from './phases.js';
import type { Scene } from './scene.js';

type Body = Answer['body'];

/** The requests about a subject and their outcomes. */
export interface Deed {
  /** Its deletion, or that of its namespace, was accepted. */
  readonly leaves: boolean;
  /** The message of a refusal by a rule. */
  readonly refusals: readonly string[];
}

/** Path of the object whose phase the case tests. */
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

/**
 * Status, reason and failure of an object, its last operation unless it succeeded, and the conditions that explain a
 * wait: those that are not True, InUse and Finalizing.
 */
export function messagesOf(object: Body | undefined): string {
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

/** Final statuses of a subject that is not deleted. */
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

/** Whether it is created again after its removal. */
function comesAgain(scene: Scene): boolean {
  const { from, broken } = scene.one;
  if (broken.to === 'Namespace') return false;
  // A service recreates its volumes as long as it exists.
  return from === 'Instance' || from === 'Node' || (from === 'Volume' && broken.to === 'Service');
}

/** Whether it is deleted with its dependency. */
function goesWith({ one }: Scene): boolean {
  const { from, broken } = one;
  if (from === 'Node') return broken.breakage === 'deleted';
  return (from === 'Volume' || from === 'Instance') && broken.to === 'Service';
}

/** The violation while the dependency is broken; undefined if there is none. */
export async function whileBroken(scene: Scene, deed: Deed): Promise<string | undefined> {
  const names = namesOf(scene);
  const object = await scene.world.get(subjectPath(scene));
  const isThere = object !== undefined;
  const goes = deed.leaves || goesWith(scene);
  if (!isThere) return goes ? undefined : 'it was deleted without a request';
  const deleting = (object['metadata'] as { deletionRequestedAt?: string }).deletionRequestedAt;
  if (!deleting && endsAs(scene).includes(String(object['status']))) return undefined;
  const messages = messagesOf(object);
  const known = recipeOf(scene).says?.test(messages) ?? false;
  if (known || names.some((name) => messages.includes(name))) return undefined;
  return `it is ${deleting ? 'being deleted, ' : ''}and reports neither what it waits for (${names.join(', ')}) nor a remedy: ${messages}`;
}

/** The violation after the repair; undefined if there is none. */
export async function afterHealing(scene: Scene, deed: Deed): Promise<string | undefined> {
  const object = await scene.world.get(subjectPath(scene));
  const leaves = deed.leaves && !comesAgain(scene);
  if (leaves) return object ? `it still exists: ${messagesOf(object)}` : undefined;
  if (!object) return 'it was deleted without a request';
  const status = String(object['status']);
  const wanted = endsAs(scene);
  if (wanted.includes(status)) return undefined;
  const messages = messagesOf(object);
  // Its source has been replaced: a copy of the new one was not requested.
  const { from, broken } = scene.one;
  const sourceGone = from === 'Snapshot' && broken.to === 'Volume' && !isBefore(broken);
  if (sourceGone && messages.includes('delete this snapshot')) return undefined;
  return `it is ${status} instead of ${wanted.join(' or ')}: ${messages}`;
}

/** Statuses of volumes and snapshots with data. */
const holdsData: readonly string[] = ['Available', 'Bound', 'Ready'];

function homeWasDeleted({ one: { broken } }: Scene): boolean {
  const { to, breakage } = broken;
  return to === 'home' && (breakage === 'deleted' || breakage === 'madeAgain');
}

/** Disks and snapshots at the provider without an object, and missing ones. */
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
    // Data that was kept by policy retain belongs to its user.
    if (plural === 'volumes' && scene.one.phase === 'Released') {
      if (there.length === 0) wrongs.push('the data was deleted although its policy is retain');
      continue;
    }
    for (const { metadata, status } of listed)
      if (holdsData.includes(status) && !at.has(metadata.uid)) wrongs.push(`the data was deleted`);
    // Data on a node that was removed from the cluster stays there.
    if (homeWasDeleted(scene)) continue;
    for (const [uid, { label }] of there) if (!uids.has(uid)) wrongs.push(`${label} leaked`);
  }
  return wrongs.length > 0 ? wrongs.join(', ') : undefined;
}
