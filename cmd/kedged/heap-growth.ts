import { setFlagsFromString } from 'node:v8';

/** How much V8's old generation may grow between two of its collections, in percent of what the last one left. */
export const heapGrowingPercent = 300;

/**
 * Lets the heap grow to four times of what the last collection left, but at most halfway to V8's limit of the heap. V8 itself
 * allows that to a program that allocates fast; to one that allocates slowly it allowed 10 to 25 %, so that 1,000 creates a
 * second caused a collection every two to three seconds, which holds up calls on two processors (docs/reference/performance.md).
 *
 * Node.js has no other interface for this. V8 reads the flag at each collection, so it may be set after the start.
 */
export function growHeapFreely(): void {
  setFlagsFromString(`--heap-growing-percent=${heapGrowingPercent}`);
}
