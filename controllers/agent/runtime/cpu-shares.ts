/** Period of CPU quotas: the default of the kernel. */
export const periodMicroseconds = 100_000;

/** The kernel's bounds of CPU shares. */
export const [sharesMin, sharesMax] = [2, 262_144];

/** Converts a CPU request in thousandths of a processor to the kernel's shares, within their bounds. */
export function sharesOf(millis: number): number {
  return Math.min(sharesMax, Math.max(sharesMin, Math.floor((millis * 1_024) / 1_000)));
}
