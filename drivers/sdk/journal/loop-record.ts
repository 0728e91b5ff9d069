/** The record of an image's loop device in the journal of the node. */
export interface LoopRecord {
  /** Identity of the file that the device was made for; undefined when that is not known, or there is no device. */
  readonly identity: string | undefined;
  /** The images, of all volumes, whose loop device was made for a file with this identity. */
  imagesOf(identity: string): Promise<readonly string[]>;
}
