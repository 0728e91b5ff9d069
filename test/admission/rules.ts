import type { LookingRule } from './looking-rule.js';
import { placeRules } from './place-rules.js';
import { useRules } from './use-rules.js';

/** Every rule that reads another object, in the order of docs/reference/admission.md. */
export const lookingRules: readonly LookingRule[] = [...placeRules, ...useRules];
