import type { About, SubjectKind } from './world.js';

/** The remedy of a problem. */
export type Remedy =
  /** The command solves the problem without changes to it. */
  | { readonly type: 'run'; readonly command: string; readonly text: string }
  /** A field needs a value that only the reader can choose. The command changes the field. */
  | {
      readonly type: 'set';
      /** `service/web command[0]` */
      readonly field: string;
      /** The required value of the field, with an example if helpful. */
      readonly value: string;
      readonly command: string;
      readonly text: string;
    }
  /** The problem is solved without an action. */
  | {
      readonly type: 'wait';
      readonly waitsFor: string;
      readonly until: string;
      /** The command for a user who does not want to wait. */
      readonly command: string;
      readonly text: string;
    };

/** Makes the remedy of an object. */
export type RemedyOf<K extends SubjectKind = SubjectKind> = (about: About<K>) => Remedy;

/**
 * Creates a remedy with a command that solves the problem.
 * @param what the effect of the command, without a full stop
 */
export function run(command: string, what: string): Remedy {
  return { type: 'run', command, text: `${what}: ${command}` };
}

/**
 * Creates a remedy that gives a field another value, with the command that does so.
 * @param more the alternative, without a full stop
 */
export function set(field: string, value: string, command: string, more = ''): Remedy {
  const text = `set ${field} to ${value}: ${command}${more === '' ? '' : `; ${more}`}`;
  return { type: 'set', field, value, command, text };
}

/**
 * Creates a remedy for a problem that ends without an action, with a command for users who do not want to wait.
 * @param otherwise the purpose of the command, such as `to delete it instead`
 */
export function wait(
  waitsFor: string,
  until: string,
  command: string,
  otherwise = 'to change that',
): Remedy {
  const text = `it waits for ${waitsFor} and continues automatically ${until}; ${otherwise}: ${command}`;
  return { type: 'wait', waitsFor, until, command, text };
}

/** A remedy for some kinds and one for all others, for a reason whose meaning depends on the kind. */
export function byKind(
  ofKind: { readonly [K in SubjectKind]?: RemedyOf<K> },
  otherwise: RemedyOf,
): RemedyOf {
  return (about) => {
    const own = ofKind[about.kind] as RemedyOf | undefined;
    return (own ?? otherwise)(about);
  };
}
