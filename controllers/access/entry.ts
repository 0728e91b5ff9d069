import { policies, tokens, users } from 'kedge/auth';
import { kindEntry } from '../api/kind-entry.js';

/** The entry of the kind User. */
export const userKind = kindEntry({
  kind: users,
  rights: {},
  api: async () => (await import('./api.js')).userApi,
});

/** The entry of the kind Policy. */
export const policyKind = kindEntry({
  kind: policies,
  rights: {},
  api: async () => (await import('./api.js')).policyApi,
});

/** The entry of the kind Token. */
export const tokenKind = kindEntry({
  kind: tokens,
  rights: {},
  api: async () => (await import('./api.js')).tokenApi,
});
