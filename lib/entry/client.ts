// What `kedge/client` loads: its packages are optional peers, so their absence is reported first.
import { demandPeers } from '../base/peers.js';

demandPeers('kedge/client', ['@bufbuild/protobuf', '@grpc/grpc-js']);
export const { ApiClient, RemoteStore, ResourceClient, wholeList } = await import(
  '../client/index.js'
);
