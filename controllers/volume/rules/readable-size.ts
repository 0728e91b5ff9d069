import { canonicalQuantity } from 'kedge';

/** Bytes in readable form: 1Gi instead of 1073741824; the number itself if it is no multiple of 1024. */
export function readableSize(bytes: bigint): string {
  const whole = bytes % 1024n === 0n ? canonicalQuantity(`${bytes / 1024n}Ki`) : undefined;
  return whole ?? String(bytes);
}
