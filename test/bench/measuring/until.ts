import { eventually } from 'kedge/testing';

/** Waits for a condition on a machine that may be busy. */
export async function until(what: string, probe: () => Promise<boolean>): Promise<void> {
  await eventually(what, probe, 120_000);
}
