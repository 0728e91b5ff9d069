import type { FieldViolation } from '../../base/index.js';
import type { ApiObject } from '../../object/index.js';
import type { Json } from './effect.js';

/** The phase of an effect. */
type EffectPhase =
  /** The intent is durable; it is unknown whether the call was made. */
  | { readonly phase: 'called' }
  | { readonly phase: 'pending'; readonly operationId: string }
  | { readonly phase: 'done'; readonly result?: Json }
  | { readonly phase: 'failed'; readonly reason: string; readonly message: string };

/** One external call, as stored. */
export type EffectState = EffectPhase & {
  readonly idempotencyKey: string;
  /** Its owner: the controller that requested it last, and the key of that run. */
  readonly controller: string;
  readonly key: string;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
};

/** The external calls made for one object, named by its uid. */
export interface EffectRecord extends ApiObject {
  /** Kind and key of the object. */
  readonly of: string;
  readonly key: string;
  readonly effects: Readonly<Record<string, EffectState>>;
}

type Fields = Readonly<Record<string, unknown>>;

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Additional string fields of each phase. */
const textsOfPhase = {
  called: [],
  pending: ['operationId'],
  done: [],
  failed: ['reason', 'message'],
} as const satisfies Readonly<Record<EffectState['phase'], readonly string[]>>;

function isPhase(phase: unknown): phase is EffectState['phase'] {
  return typeof phase === 'string' && Object.hasOwn(textsOfPhase, phase);
}

/** The problem of one stored effect; undefined if a controller can continue it. */
function problemOf(state: unknown): string | undefined {
  if (!isFields(state)) return `${JSON.stringify(state)} must be an object`;
  const { phase, startedAt } = state;
  if (!isPhase(phase))
    return `its phase ${JSON.stringify(phase)} must be one of ${Object.keys(textsOfPhase).join(', ')}`;
  const texts = ['idempotencyKey', 'controller', 'key', ...textsOfPhase[phase]];
  const missing = texts.find((field) => typeof state[field] !== 'string');
  if (missing !== undefined) return `its ${missing} must be a string`;
  return Number.isFinite(startedAt) ? undefined : 'its startedAt must be a number of milliseconds';
}

/** The violations of a client's record: entries that no controller could continue. */
export function effectViolations({ effects }: EffectRecord): readonly FieldViolation[] {
  return Object.entries(effects).flatMap(([name, state]) => {
    const problem = problemOf(state);
    return problem === undefined ? [] : [{ field: `effects.${name}`, description: problem }];
  });
}

/**
 * The effects of a record by name, without invalid ones: one bad record must not prevent
 * controllers from starting or an object from being deleted.
 */
export function effectsIn(record: EffectRecord | undefined): EffectRecord['effects'] {
  const all: Readonly<Record<string, unknown>> = record?.effects ?? {};
  return Object.fromEntries(
    Object.entries(all).filter((entry): entry is [string, EffectState] => {
      const [, state] = entry;
      return problemOf(state) === undefined;
    }),
  );
}
