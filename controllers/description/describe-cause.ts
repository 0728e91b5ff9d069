import { type ObjectStore, parseFieldSelector } from 'kedge';
import type { DriverRegistry } from '@kedge/driver-sdk';
import type { Subject } from '../reasons/index.js';
import type { Explanation } from '../cause/explain.js';
import { readExplanation } from '../cause/read-explanation.js';
import { storeReader } from '../cause/store-reader.js';
import { events } from '../event/kind.js';

/** The cause of an object's problem, read from a store; undefined without a problem. */
export function explainStored(
  store: ObjectStore,
  { declaredCredentials = new Map() }: DriverRegistry,
  subject: Subject,
): Promise<Explanation | undefined> {
  const reader = storeReader(store, declaredCredentials);
  return readExplanation(
    reader,
    async (namespace, selector) =>
      (await store.list(events, { namespace, fields: parseFieldSelector(selector) })).items,
    subject,
  );
}

/** The hints of a description: the remedy as a sentence with the command; empty without a remedy. */
export function hintsOf(explanation: Explanation | undefined): readonly string[] {
  return explanation?.remedy ? [explanation.remedy.text] : [];
}
