/** The record of an image's loop device in the journal of the node. */
export interface LoopRecord {
  /** Identity of the file that the device was created for; undefined if it is unknown or there is no device. */
  readonly identity: string | undefined;
  /** The images, of all volumes, whose loop device was created for a file with this identity. */
  imagesOf(identity: string): Promise<readonly string[]>;
}
