/** Access control: the rules of users, policies and tokens, and the policies that every installation has. */
export { accessPolicies } from './builtin-policies.js';
