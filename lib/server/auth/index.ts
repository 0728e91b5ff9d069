/**
 * Authentication and authorization: users, tokens, policies. Default deny. Secrets of tokens are stored hashed and
 * compared in constant time.
 */
export {
  type Authentication,
  Authenticator,
  type AuthenticatorOptions,
} from './authenticator.js';
export { type Access, type AccessControl, accessControl, Authorizer } from './authorizer.js';
export {
  bootstrap,
  isBootstrapped,
  issueToken,
  recoverRoot,
  tokenCreation,
  type TokenParent,
  type TokenRequest,
} from './bootstrap.js';
export type { Identity } from './identity.js';
export { type GrantBinding, type LeftToken } from './grants.js';
export { type Can, escalations } from './escalation.js';
export { holders, nodesOf, requireTokenDepth } from './token-ancestors.js';
export { rightsChanges } from './changes.js';
export { type BuiltinPolicies, builtinPolicies, seedPolicies } from './builtin-policies.js';
export { makeToken, type NewToken, withoutTokens } from './token-format.js';
export {
  authKinds,
  policies,
  type Policy,
  type PolicyRule,
  systemStates,
  type Token,
  tokens,
  type User,
  users,
} from './kinds.js';
