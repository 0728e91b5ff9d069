import { causeText, type Explanation } from '@kedge/controllers/cause';
import type { ApiClient } from 'kedge/client';
import { subjectOf } from '../output/subjects.js';
import { explainRemote } from './api-reader.js';
import type { Told } from './follow.js';

/** An object of a cast that is not ready. */
export interface Stuck {
  /** `Service default/web` */
  readonly label: string;
  /** The state that the cast received. */
  readonly detail: string;
  /** The last state; undefined for an object that was not received. */
  readonly told: Told | undefined;
}

/** If the server no longer answers, the states that the cast received are used. */
async function explained(client: ApiClient, { told }: Stuck): Promise<Explanation | undefined> {
  const subject = told && subjectOf(told.kind, told.object);
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
