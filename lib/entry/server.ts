// The entry point `kedge/server`. Its packages are optional peers, so missing ones are reported first.
import { requirePeers } from '../base/peers.js';

requirePeers('kedge/server', ['@bufbuild/protobuf', 'ajv', 'fastify']);
export const {
  ApiServer,
  Authenticator,
  Authorizer,
  accessControl,
  authKinds,
  bootstrap,
  builtinPolicies,
  describeKinds,
  escalations,
  httpStatuses,
  isBootstrapped,
  issueToken,
  makeToken,
  methodTable,
  mount,
  openApiDocument,
  policies,
  recoverRoot,
  rightsChanges,
  seedPolicies,
  serve,
  TlsSource,
  systemStates,
  tokenCreation,
  tokens,
  users,
} = await import('../server/index.js');
