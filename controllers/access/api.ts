import type { Policy, Token, User } from 'kedge/server';
import type { KindApi } from '../api/kind-entry.js';
import { policyRules, tokenRules, userRules } from './admission.js';
import { accessVerbs } from './verbs.js';

/** The API of the kind User. */
export const userApi: KindApi<User> = { rules: userRules, verbs: accessVerbs };

/** The API of the kind Policy. */
export const policyApi: KindApi<Policy> = { rules: policyRules };

/** The API of the kind Token. */
export const tokenApi: KindApi<Token> = { rules: tokenRules };
