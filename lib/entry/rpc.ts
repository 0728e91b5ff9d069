// The entry point `kedge/rpc`. Its packages are optional peers, so missing ones are reported first.
import { demandPeers } from '../base/peers.js';

demandPeers('kedge/rpc', ['@bufbuild/protobuf']);
export const {
  OptionWriter,
  SchemaRegistry,
  baseDescriptors,
  bodyField,
  decodeStatus,
  demandFewItems,
  demandKnownFields,
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
