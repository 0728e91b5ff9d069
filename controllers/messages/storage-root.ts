import { messageForm } from '@kedge/driver-sdk/messages';

/** The beginning of the message of a storage root that is refused. */
export const storageRootLabel = messageForm('storage root {path}');

/** Another process has locked a storage root. */
export const storageRootHolder = messageForm('is locked by process {pid}');

/** The cluster whose kedged refuses the storage root of another cluster. */
export const storageRootRefusedBy = messageForm('and this is cluster {cluster}');

/** The command that marks a directory as the storage root of a cluster. */
export const markCommand = messageForm('mkdir -p {folder} && echo {cluster} > {mark}');
