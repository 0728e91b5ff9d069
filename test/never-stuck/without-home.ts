import { type Deed, subjectPath, messagesOf } from './judge.js';
import type { Scene } from './scene.js';

/** The required state of a subject if the node with its data does not return. */
type End =
  | { readonly type: 'gone' }
  | { readonly type: 'is'; readonly status: string }
  /** It can't continue and names this. */
  | { readonly type: 'says'; readonly message: RegExp }
  /** It names the policy that deletes it without its data. With that policy it is deleted. */
  | { readonly type: 'goesWithRetain' };

const gone: End = { type: 'gone' };
const is = (status: string): End => ({ type: 'is', status });
const says = (message: RegExp): End => ({ type: 'says', message });

/** Whether the node with the data was permanently removed from the cluster. */
export function isHomeGone({ one: { broken, action } }: Scene): boolean {
  return broken.to === 'home' && broken.breakage === 'deleted' && action !== 'return';
}

function endOfVolume({ isAlone, one: { phase } }: Scene, leaves: boolean): End {
  switch (phase) {
    case 'Released':
      return leaves ? gone : is('Released');
    case 'Available':
    case 'Bound':
      return leaves ? { type: 'goesWithRetain' } : is('Available');
    default:
      if (leaves) return gone;
      // Nothing was provisioned for it, so another node that its class allows suffices.
      return isAlone ? says(/no node has the labels that allowedTopologies/) : is('Available');
  }
}

function endOfSnapshot({ isAlone, one: { phase } }: Scene, leaves: boolean): End {
  if (leaves) return gone;
  switch (phase) {
    case 'Pending':
      return isAlone ? says(/base" is Failed: no node has/) : is('Ready');
    case 'Creating':
      return says(
        /node n1, which has the data of its source, was deleted; start kedged on that machine/,
      );
    default:
      return is(phase);
  }
}

function endOf(scene: Scene, leaves: boolean): End {
  switch (scene.one.from) {
    case 'Volume':
      return endOfVolume(scene, leaves);
    case 'Snapshot':
      return endOfSnapshot(scene, leaves);
    default:
      return leaves ? { type: 'goesWithRetain' } : is('Active');
  }
}

/** The violation after the time in which it must manage without the node; undefined if there is none. */
export async function withoutHome(scene: Scene, { leaves }: Deed): Promise<string | undefined> {
  const end = endOf(scene, leaves);
  const object = await scene.world.get(subjectPath(scene));
  const messages = messagesOf(object);
  switch (end.type) {
    case 'gone':
      return object && `it still exists: ${messages}`;
    case 'is':
      return object?.['status'] === end.status ? undefined : `it is not ${end.status}: ${messages}`;
    case 'says':
      return end.message.test(messages)
        ? undefined
        : `it does not report ${end.message.source}: ${messages}`;
    case 'goesWithRetain':
      if (!messages.includes('set reclaimPolicy to retain'))
        return `it names no remedy: ${messages}`;
      return retain(scene);
  }
}

async function retain(scene: Scene): Promise<string | undefined> {
  const path = scene.path('/volumes/v');
  const { status, body } = await scene.change(path, (v) => ({ ...v, reclaimPolicy: 'retain' }));
  return status === 200 ? undefined : `the remedy is refused: ${JSON.stringify(body)}`;
}

/** The violation after the remedy was applied; undefined if there is none. */
export async function afterRemedy(scene: Scene, { leaves }: Deed): Promise<string | undefined> {
  if (endOf(scene, leaves).type !== 'goesWithRetain') return undefined;
  const object = await scene.world.get(subjectPath(scene));
  return object && `it still exists with its policy retain: ${messagesOf(object)}`;
}
