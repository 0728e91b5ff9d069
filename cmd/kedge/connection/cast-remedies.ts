import { causeText, type Explanation } from '@kedge/controllers/cause';
import type { ApiClient } from 'kedge/client';
import { subjectOf } from '../output/subjects.js';
import { explainRemote } from './api-reader.js';
import type { ObservedObject } from './follow.js';

/** An object of a cast that is not ready. */
export interface Stuck {
  /** Kind and key of the object, such as `Service default/web`. */
  readonly label: string;
  /** The state that the cast received. */
  readonly detail: string;
  /** The last state; undefined for an object that was not received. */
  readonly observed: ObservedObject | undefined;
}

/**
 * The explanation of an object that is not ready; undefined if the object was not received, or the server does not
 * answer.
 */
async function explained(client: ApiClient, { observed }: Stuck): Promise<Explanation | undefined> {
  const subject = observed && subjectOf(observed.kind, observed.object);
  if (!subject) return undefined;
  try {
    return await explainRemote(client, subject);
  } catch {
    return undefined;
  }
}

/** One paragraph per object that is not ready: its cause, the remedy, and the command on a separate line. */
export async function remediesOf(client: ApiClient, stuck: readonly Stuck[]): Promise<string> {
  const lines: string[] = [];
  for (const each of stuck) {
    const explanation = await explained(client, each);
    lines.push(`${each.label}: ${causeText(explanation, each.label) || each.detail}`);
    const remedy = explanation?.remedy;
    if (remedy) lines.push(`  Remedy: ${remedy.text}`, `  Next: ${remedy.command}`);
  }
  return lines.map((line) => `\n  ${line}`).join('');
}
