/**
 * Texts with named parts that one component writes and another one reads. Drivers write the texts of this module;
 * remedies read their parts.
 */
export { type GivenParts, type MessageForm, messageForm, type ReadParts } from './message-form.js';
export {
  answerUnreadable,
  credentialAbsent,
  hostPathMissing,
  hostPathRefused,
  operationUnobserved,
  packageMissing,
  parameterRefused,
  parameterToSet,
  programsMissing,
  rootNeeded,
} from './driver-messages.js';
