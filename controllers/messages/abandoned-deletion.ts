/**
 * The annotation with which a user ends the wait for an accepted deletion whose end can't be read. Its value is the uid
 * of the object, so that it has no effect on another object with the same manifest.
 */
export const abandonAnnotation = 'svc.io/abandon-deletion';

/** An object with its uid and annotations. */
interface Annotated {
  readonly metadata: {
    readonly uid: string;
    readonly annotations?: Readonly<Record<string, string>>;
  };
}

/** Whether a user ended the wait for the deletion of an object. */
export function isDeletionAbandoned({ metadata }: Annotated): boolean {
  return metadata.annotations?.[abandonAnnotation] === metadata.uid;
}

/** The words after the type and the name of the object in the command that ends the wait. */
export function abandonWords({ metadata }: Annotated): string {
  return `${abandonAnnotation}=${metadata.uid}`;
}

/** The warning about a volume that was removed by the annotation. */
export const abandonedVolume =
  'volume removed by its annotation, although the end of its deletion is not known: the data may be at the provider';
