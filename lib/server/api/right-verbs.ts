import type { StandardVerb } from '../../rpc/index.js';

/** The verb of the right of each standard method. */
export const rightVerbs: Readonly<Record<StandardVerb, string>> = {
  Get: 'get',
  List: 'list',
  Create: 'create',
  Update: 'update',
  UpdateStatus: 'update',
  Delete: 'delete',
  Watch: 'watch',
};
