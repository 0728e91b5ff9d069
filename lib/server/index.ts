/**
 * A gRPC and REST server for kinds: authentication, RBAC, validation and watch from declarations.
 *
 * - Both transports share one chain of checks.
 * - Default deny: only methods declared anonymous work without a token.
 * - Unknown fields are refused (REST by name, gRPC by number), and status fields in creations and updates are ignored. All
 *   violations of the shape are reported together, or else all of the rules.
 *
 * Not guaranteed: delivery to clients that do not read; they get backpressure.
 */
export type { AdmissionContext, AdmissionRules, LookupOptions } from './api/admission-rules.js';
export { serve, type ServedKind } from './api/served-kind.js';
export type { ApiParts } from './methods/api-parts.js';
export { ApiServer } from './api-server.js';
export type {
  ApiServerOptions,
  ListenAddresses,
  ServerRunnableOptions,
} from './api-server-options.js';
export type { ConnectionBounds } from './transport/connections.js';
export {
  type Access,
  type AccessControl,
  accessControl,
  type Authentication,
  Authenticator,
  type AuthenticatorOptions,
  authKinds,
  Authorizer,
  bootstrap,
  type BuiltinPolicies,
  builtinPolicies,
  type Can,
  escalations,
  type GrantBinding,
  type Identity,
  isBootstrapped,
  issueToken,
  type LeftToken,
  makeToken,
  type NewToken,
  policies,
  type Policy,
  type PolicyRule,
  recoverRoot,
  rightsChanges,
  seedPolicies,
  systemStates,
  type Token,
  tokenCreation,
  type TokenParent,
  type TokenRequest,
  tokens,
  type User,
  users,
} from './auth/index.js';
export { type DescribedKinds, describeKinds } from './api/describe-kinds.js';
export { type FieldsOf, type FieldSpec, mount, type MountedKind } from './api/mounted-kinds.js';
export type { ValidatedWrites, PendingCommit, Verdict } from './admission/validated-writes.js';
export type { Validation } from './admission/validation.js';
export type { Seen, SeenMeta } from './api/seen-object.js';
export type { PreparedWrite, WriteRequest } from './admission/write-request.js';
export type { CallContext, CustomMethod, MethodAccess, Peer } from './api/call.js';
export type { AuditEntry, AuditSink } from './api/audit.js';
export type { ObjectAccess, ObjectChange, ObjectFilter } from './api/object-access.js';
export { type Comments, openApiDocument } from './schema/openapi.js';
export { type TlsFiles, type TlsMaterial, TlsSource } from './transport/tls.js';
export { httpStatuses } from './schema/http-status.js';
export { methodTable, type MethodInfo } from '../rpc/index.js';
