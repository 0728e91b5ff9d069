import type { ObjectStore } from 'kedge';
import type { DriverRegistry } from '@kedge/driver-sdk';
import type { Subject } from '../reasons/index.js';
import { explain, type Explanation } from '../cause/explain.js';
import { gather } from '../cause/gather.js';
import { storeReader } from '../cause/store-reader.js';

/** The cause of an object's problem, read from a store; undefined without a problem. */
export async function explainStored(
  store: ObjectStore,
  { declaredCredentials = new Map() }: DriverRegistry,
  subject: Subject,
): Promise<Explanation | undefined> {
  return explain(subject, await gather(storeReader(store, declaredCredentials), subject));
}

/** The lines of a description: the remedy as a sentence with the command. */
export function hintsOf(explanation: Explanation | undefined): readonly string[] {
  return explanation?.remedy ? [explanation.remedy.text] : [];
}
