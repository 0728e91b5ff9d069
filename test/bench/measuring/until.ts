import { eventually } from 'kedge/testing';

/** Waits for a condition on a possibly busy machine, ten minutes at most. */
export async function until(what: string, probe: () => Promise<boolean>): Promise<void> {
  await eventually(what, probe, 600_000);
}
