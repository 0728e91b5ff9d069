import { messageForm } from '@kedge/driver-sdk/messages';

/** A volume in messages about an instance: `<namespace>/<name>`. */
export const volumeLabel = messageForm('volume {volume}');

/** A volume in messages about volumes, snapshots and namespaces: `<namespace>/<name>`. */
export const quotedVolume = messageForm('volume "{volume}"');

/** A snapshot: `<namespace>/<name>`. */
export const quotedSnapshot = messageForm('snapshot "{snapshot}"');

/** A mounted volume does not exist. */
export const volumeMissing = messageForm('volume {volume} does not exist');

/** The instance that has claimed a volume, or another volume with the same data. */
export const usedBy = messageForm('in use by instance {instance}');

/** A volume with the maximum number of attachments. */
export const attachmentsExhausted = messageForm(
  'one volume has at most {maximum}; run fewer instances',
);

/** A file system of a volume is nearly full. */
export const ownFileSystemFull = messageForm(
  'more than {percent} % of the {resource} of its file system is used',
);

/** The disk on which a volume is a directory is nearly full. */
export const sharedDiskFull = messageForm(
  'more than {percent} % of the {resource} of the disk that it shares is used',
);

/** The snapshot that a volume is restored from does not exist. */
export const snapshotMissing = messageForm('snapshot "{snapshot}" does not exist');

/** A volume is smaller than its snapshot requires. */
export const sizeTooSmall = messageForm(
  'its size {size} is less than snapshot "{snapshot}" requires: {least} bytes',
);

/** The source volume of a snapshot does not exist any more. */
export const sourceMissing = messageForm('volume "{volume}" does not exist any more');

/** The source volume of a snapshot is being deleted. */
export const sourceDeleting = messageForm('volume "{volume}" is being deleted');

/** The storage class of a volume does not exist. */
export const classMissing = messageForm('storage class "{storageClass}" does not exist');

/** This daemon does not have the driver of a storage class. */
export const driverMissing = messageForm('driver {driver} is not registered');

/** A deletion whose parameters are refused is not continued with those that the class has now. */
export const leftElsewhere = messageForm(
  'something of it may be where the earlier parameters say, so the present ones do not end the deletion',
);
