import { declareKind, string } from 'kedge';
import { describeKinds } from 'kedge/server';

/** A kind with only a text. */
export const notes = declareKind({
  kind: 'Note',
  plural: 'notes',
  scope: 'Namespaced',
  fields: { text: string() },
});

/** Schemas and package of an API that serves notes. */
export const notesApi = describeKinds('notes.v1', [notes]);
