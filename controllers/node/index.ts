/** Nodes: how one makes itself known. */
export { NodeRegistration, type NodeRegistrationOptions } from './registration.js';
