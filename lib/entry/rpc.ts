// The entry point `kedge/rpc`. Its packages are optional peers, so missing ones are reported first.
import { requirePeers } from '../base/peers.js';

requirePeers('kedge/rpc', ['@bufbuild/protobuf']);
export const {
  OptionWriter,
  SchemaRegistry,
  baseDescriptors,
  bodyField,
  decodeStatus,
  requireFewItems,
  requireKnownFields,
  encodeStatus,
  fieldRules,
  fromProtoJson,
  hasPresence,
  headerSized,
  httpRoute,
  isJsonMessage,
  isJsonObject,
  methodTable,
  present,
  statusCodeName,
  statusDetailsKey,
  textOf,
} = await import('../rpc/index.js');
