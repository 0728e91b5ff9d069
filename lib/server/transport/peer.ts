import { isIPv4, type Socket } from 'node:net';
import type { Peer } from '../api/call.js';

/** Parses an address of a peer, with or without a port: `127.0.0.1:4711`, `[::1]:4711`, `::ffff:127.0.0.1`. */
export function peerOf(address: string): Peer {
  const host = address
    .replace(/^\[([^\]]*)\](?::\d+)?$/, '$1')
    .replace(/^(\d+\.\d+\.\d+\.\d+):\d+$/, '$1')
    .replace(/^::ffff:/, '');
  return { address: host, loopback: isLoopbackAddress(host) };
}

/** Whether a host is a loopback address. A name is not one, because it may resolve to any address. */
function isLoopbackAddress(host: string): boolean {
  return host === '::1' || (isIPv4(host) && host.startsWith('127.'));
}

const peers = new WeakMap<Socket, Peer>();

/** The peer of a connection; computed once. */
export function peerOfSocket(socket: Socket): Peer {
  let peer = peers.get(socket);
  if (!peer) peers.set(socket, (peer = peerOf(socket.remoteAddress ?? '')));
  return peer;
}
