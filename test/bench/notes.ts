import { type ApiObject, kindOf } from 'kedge';
import { describeKinds, mount } from 'kedge/server';

/** A kind with nothing but a text. */
interface Note extends ApiObject {
  readonly text: string;
}

export const notes = kindOf<Note>()({
  kind: 'Note',
  plural: 'notes',
  scope: 'Namespaced',
  statusFields: [],
});

/** Schemas and package of an API that serves notes. */
export const notesApi = describeKinds('notes.v1', [mount(notes, { text: 'string' })]);
