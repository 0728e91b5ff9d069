/** Runs `work` in `workers` loops for `ms`; returns operations per second. */
export async function rate(
  workers: number,
  ms: number,
  work: () => Promise<unknown>,
): Promise<number> {
  let count = 0;
  const startedAt = performance.now();
  const endsAt = startedAt + ms;
  const loop = async (): Promise<void> => {
    while (performance.now() < endsAt) {
      await work();
      count += 1;
    }
  };
  await Promise.all(Array.from({ length: workers }, loop));
  return (count / (performance.now() - startedAt)) * 1_000;
}
