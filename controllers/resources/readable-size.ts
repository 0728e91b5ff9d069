import type { Volume } from '@kedge/api/kinds';
import { canonicalQuantity } from 'kedge/objects';

/** Bytes in readable form: 1Gi instead of 1073741824; the number itself if it is no multiple of 1024. */
export function readableSize(bytes: bigint): string {
  const whole = bytes % 1024n === 0n ? canonicalQuantity(`${bytes / 1024n}Ki`) : undefined;
  return whole ?? String(bytes);
}

/**
 * The provisioned size of a volume for people; empty before its provisioning. After a growth at the provider, the file
 * system may still be smaller (condition FileSystemResizePending).
 */
export function shownCapacity({ sizeBytes = '' }: Pick<Volume, 'sizeBytes'>): string {
  return /^\d+$/.test(sizeBytes) && sizeBytes !== '0' ? readableSize(BigInt(sizeBytes)) : '';
}
