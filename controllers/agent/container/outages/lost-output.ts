import type { EngineContainers } from '../engine/engine-containers.js';
import type { EngineOutages } from './engine-outages.js';

const timeOf = (ms: number): string => new Date(ms).toISOString();

/**
 * The line that reports that the last output of a container may be missing: it ended during an outage of the engine,
 * which does not record it. Undefined for a running or removed container, and for one that ended at another time.
 * @throws EngineError
 */
export async function lostOutput(
  containers: EngineContainers,
  outages: EngineOutages,
  container: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const ended = (await containers.inspect(container, signal))?.finishedAt;
  const outage = ended === undefined ? undefined : outages.at(ended);
  if (ended === undefined || !outage) return undefined;
  const from = timeOf(outage.from);
  const to = outage.to === undefined ? 'now' : timeOf(outage.to);
  const what = outage.observed
    ? `was unavailable from ${from} to ${to}`
    : `was restarted between ${from} and ${to}, while kedged did not run`;
  return `[kedge] the container engine ${what}; the last output of this container, which ended at ${timeOf(ended)}, may be missing`;
}
