import type { MethodInfo, StandardVerb } from '../../rpc/index.js';

const verbs: Readonly<Record<StandardVerb, string>> = {
  Get: 'Get',
  List: 'List',
  Create: 'Create',
  Update: 'Replace',
  UpdateStatus: 'Replace the status of',
  Delete: 'Delete',
  Watch: 'Watch',
};

/**
 * A summary of an operation in a few words, for lists of operations.
 * @param comment the comment of the method
 */
export function summaryOf({ id, standard }: MethodInfo, comment: string | undefined): string {
  if (standard) {
    const { verb, kind } = standard;
    const many = verb === 'List' || verb === 'Watch';
    return `${verbs[verb]} ${kind.kind}${many ? ' objects' : ''}`;
  }
  const [sentence] = (comment ?? '').replaceAll(/\s+/g, ' ').split(/[.:;](?:\s|$)/);
  if (sentence) return sentence;
  const words = (id.split('.')[1] ?? id).replaceAll(/(?<=[a-z])(?=[A-Z])/g, ' ').toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
}
