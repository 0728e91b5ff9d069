import { messageForm } from '@kedge/driver-sdk/messages';

/** An object that is being deleted with its namespace; its status follows. */
export const objectRemains = messageForm('{kind} "{name}" is');
