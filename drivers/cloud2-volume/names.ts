/** Keys of the labels of a volume. */
export const labelKeys = { uid: 'svc.io/volume-id', cluster: 'svc.io/cluster-id' } as const;

/** Converts a text to a valid label value: at most 63 characters with a letter or digit at both ends, or empty. */
export function labelValue(text: string): string {
  return text
    .replaceAll(/[^A-Za-z0-9._-]/g, '-')
    .slice(0, 63)
    .replaceAll(/^[^A-Za-z0-9]+|[^A-Za-z0-9]+$/g, '');
}
