import type { Volume } from '../kinds/index.js';

/**
 * Why a volume must not be deleted now, with the way out; undefined when it may be. All of it is the
 * volume's own status: a deletion of the version that was looked at is judged in its commit.
 */
export function deletionObstacle(volume: Volume): string | undefined {
  const { namespace, name, status, boundClaim, attachments = [] } = volume;
  if (status !== 'Bound' && attachments.length === 0) return undefined;
  const claim = boundClaim || attachments[0]?.claim || 'an instance';
  return `volume "${namespace}/${name}" is bound to ${claim}; delete the service or scale it down first`;
}
