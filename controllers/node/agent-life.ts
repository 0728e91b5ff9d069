import type { Random } from 'kedge';

/** One process that is, or wants to be, the agent of a node. */
export interface AgentLife {
  /** Differs for each process. */
  readonly id: string;
  /**
   * Whether the process of another id is known to have ended, so that this one need not wait until the node is
   * silent.
   */
  readonly hasEnded: (id: string) => boolean;
}

/**
 * The agent in the process that holds the store: nobody else is the agent of its node. One that says so ends
 * when it sees that it was replaced.
 */
export function agentOfStore(random: Random): AgentLife {
  return { id: random.uuid(), hasEnded: () => true };
}
