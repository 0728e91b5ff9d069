import type { FieldViolation } from 'kedge';
import { nearest } from '../../near-miss.js';

/** `server.grpcAddress` as `KEDGE_SERVER_GRPC_ADDRESS`. */
export function environmentName(key: string): string {
  const words = key.replaceAll(/([a-z])([A-Z])/g, '$1_$2').replaceAll(/[.-]/g, '_');
  return `KEDGE_${words.toUpperCase()}`;
}

/** Known variables other than settings: of the daemon, of `kedge`, and of workloads. */
const otherVariables = [
  'KEDGE_CONFIG',
  'KEDGE_KEK',
  'KEDGE_SERVER',
  'KEDGE_TOKEN',
  'KEDGE_SERVICE',
  'KEDGE_INSTANCE',
  'KEDGE_NAMESPACE',
  'KEDGE_ORDINAL',
];

/**
 * Returns a violation for each unknown environment variable that resembles a known one. Other variables with the prefix
 * are ignored: they may belong to a driver, for example.
 * @param keys the keys of all settings
 */
export function misspeltVariables(
  environment: Readonly<Record<string, string | undefined>>,
  keys: ReadonlySet<string>,
): readonly FieldViolation[] {
  const known = new Set([...[...keys].map(environmentName), ...otherVariables]);
  return Object.keys(environment)
    .filter((name) => name.startsWith('KEDGE') && !known.has(name))
    .flatMap((name) => {
      const meant = nearest(name, known);
      if (meant === undefined) return [];
      return [{ field: name, description: `is not a setting; did you mean ${meant}?` }];
    });
}
