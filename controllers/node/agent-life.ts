import type { Random } from 'kedge';

/** One agent process of a node, or a candidate. */
export interface AgentLife {
  /** Differs for each process. */
  readonly id: string;
  /** Whether the process with another id has ended, so that this one need not wait for missing heartbeats. */
  readonly hasEnded: (id: string) => boolean;
}

/**
 * The agent in the process of the store, which does not wait for other agents of its node: each of them ends once it
 * detects its replacement.
 */
export function agentOfStore(random: Random): AgentLife {
  return { id: random.uuid(), hasEnded: () => true };
}
