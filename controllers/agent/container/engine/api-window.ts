import { EngineError } from './engine-error.js';

/** Versions of the Docker Engine API that this client supports, both included. */
const apiWindow = { oldest: '1.41', newest: '1.44' } as const;

/** The version information of an engine. */
export interface EngineVersion {
  /** Version of the engine, such as `20.10.24`. */
  readonly version: string;
  /** The newest version of the API that the engine supports. */
  readonly apiVersion: string;
  /** The oldest version of the API that the engine supports. */
  readonly minApiVersion: string;
}

/** Compares versions: negative, zero or positive if the first one is older, the same or newer. */
function compare(a: string, b: string): number {
  const [majorA = 0, minorA = 0] = a.split('.').map(Number);
  const [majorB = 0, minorB = 0] = b.split('.').map(Number);
  return majorA - majorB || minorA - minorB;
}

/**
 * The newest version of the API that both sides support.
 * @throws EngineError Unsupported with the versions of both sides and the remedy; Malformed if a version of the engine
 * is not of the form MAJOR.MINOR
 */
export function commonVersion(engine: EngineVersion): string {
  const { version, apiVersion, minApiVersion } = engine;
  const { oldest, newest } = apiWindow;
  const both = `the container engine ${version} supports API ${minApiVersion} to ${apiVersion}, and kedged supports ${oldest} to ${newest}`;
  for (const number of [apiVersion, minApiVersion])
    if (!/^\d+\.\d+$/.test(number))
      throw new EngineError('Malformed', `"${number}" is not a version of an engine's API`);
  if (compare(apiVersion, oldest) < 0)
    throw new EngineError('Unsupported', `${both}; upgrade the engine (Docker 20.10 or later)`);
  if (compare(minApiVersion, newest) > 0)
    throw new EngineError('Unsupported', `${both}; upgrade kedged, or use an older engine`);
  return compare(apiVersion, newest) < 0 ? apiVersion : newest;
}
