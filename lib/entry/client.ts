// The entry point `kedge/client`. Its packages are optional peers, so missing ones are reported first.
import { requirePeers } from '../base/peers.js';

requirePeers('kedge/client', ['@bufbuild/protobuf', '@grpc/grpc-js']);
export const { ApiClient, RemoteStore, ResourceClient, wholeList } = await import(
  '../client/index.js'
);
