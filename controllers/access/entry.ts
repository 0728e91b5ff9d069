import { policies, tokens, users } from 'kedge/auth';
import { kindEntry } from '../api/kind-entry.js';

/** What is derived from the kind of users. */
export const userKind = kindEntry({
  kind: users,
  rights: {},
  api: async () => (await import('./api.js')).userApi,
});

/** What is derived from the kind of policies. */
export const policyKind = kindEntry({
  kind: policies,
  rights: {},
  api: async () => (await import('./api.js')).policyApi,
});

/** What is derived from the kind of tokens. */
export const tokenKind = kindEntry({
  kind: tokens,
  rights: {},
  api: async () => (await import('./api.js')).tokenApi,
});
