import type { Phase } from './elector-state.js';
import type { LeaseHolding } from './lease-holding.js';

/** The health of an elector and its state. */
export interface ElectorHealth {
  readonly healthy: boolean;
  readonly message: string;
}

/** The inputs of an elector's health. */
export interface ElectorFacts {
  readonly phase: Phase;
  readonly identity: string;
  readonly leaseDurationMs: number;
  readonly lease: Pick<LeaseHolding, 'leader' | 'sinceRenewalMs' | 'sinceReadMs'>;
}

const seconds = (ms: number): number => Math.round(ms / 1_000);

function standby({ lease, identity, leaseDurationMs }: ElectorFacts): ElectorHealth {
  const { leader, sinceReadMs } = lease;
  if (sinceReadMs > leaseDurationMs)
    return {
      healthy: false,
      message: `standby, the lease could not be read for ${seconds(sinceReadMs)} s`,
    };
  if (leader === identity)
    return {
      healthy: true,
      message: 'standby, waits until an earlier lease of this candidate expires',
    };
  const who = leader === '' ? 'no leader is known' : `"${leader}" leads`;
  return { healthy: true, message: `standby, ${who}` };
}

/** The health of an elector in each of its states. */
export function electorHealth(facts: ElectorFacts): ElectorHealth {
  const { phase, leaseDurationMs } = facts;
  const { sinceRenewalMs } = facts.lease;
  switch (phase.state) {
    case 'idle':
      return { healthy: true, message: 'has not started' };
    case 'standby':
      return standby(facts);
    case 'leading':
      if (sinceRenewalMs <= leaseDurationMs) return { healthy: true, message: 'leading' };
      return {
        healthy: false,
        message: `leads, but its lease was not renewed for ${seconds(sinceRenewalMs)} s`,
      };
    case 'resigning':
      if (phase.reason === 'withdrawn')
        return { healthy: true, message: 'steps down, its work is being stopped' };
      return { healthy: false, message: 'no longer leads, its work is being stopped' };
    case 'stopped':
      return { healthy: true, message: 'stopped' };
  }
}
