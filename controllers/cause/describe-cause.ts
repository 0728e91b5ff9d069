import type { ObjectStore } from 'kedge';
import type { Subject } from '../reasons/index.js';
import { explain, type Explanation } from './explain.js';
import { gather } from './gather.js';
import { storeReader } from './store-reader.js';

/** Why an object of a store is not as it should be; undefined when there is nothing to explain. */
export async function explainStored(
  store: ObjectStore,
  subject: Subject,
): Promise<Explanation | undefined> {
  return explain(subject, await gather(storeReader(store), subject));
}

/** The lines of a description: what is to be done, in a sentence with the command. */
export function hintsOf(explanation: Explanation | undefined): readonly string[] {
  return explanation?.remedy ? [explanation.remedy.text] : [];
}
