/**
 * Optional peer packages that only some entry points need, so that embedding the library does not install a server.
 * package.json declares the same ranges (a test compares them).
 */
export const peerRanges = {
  '@bufbuild/protobuf': '^2.17.0',
  '@grpc/grpc-js': '^1.14.7',
  '@opentelemetry/api': '^1.9.0',
  ajv: '^8.20.0',
  fastify: '^5.12.8',
  pino: '^10.4.0',
} as const;

/** The name of an optional peer package. */
export type Peer = keyof typeof peerRanges;

/**
 * Checks that the packages of an entry point are installed, before it is loaded.
 * @throws TypeError that names the missing packages and the command that installs them.
 */
export function requirePeers(
  entry: string,
  peers: readonly Peer[],
  resolve: (name: string) => string = (name) => import.meta.resolve(name),
): void {
  const missing = peers.filter((peer) => {
    try {
      resolve(peer);
      return false;
    } catch {
      return true;
    }
  });
  if (missing.length === 0) return;
  const command = missing.map((peer) => `${peer}@${peerRanges[peer]}`).join(' ');
  throw new TypeError(
    `${entry} needs ${missing.join(' and ')}, which is not installed; run: npm install ${command}`,
  );
}
