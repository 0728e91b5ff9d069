import type { Form } from './form.js';
import type { Timed } from './records.js';
import type { State } from './state.js';

/** The arguments of an action. */
export interface Call extends Timed {
  readonly state: State;
  readonly action: string;
  readonly form: Form;
  /** The ids that the request names. */
  readonly ids: readonly string[];
  /** Maximum number of items of a page. */
  readonly perPage: number;
}
