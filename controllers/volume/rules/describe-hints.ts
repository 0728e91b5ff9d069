/** Facts for the hints of `describe`, in addition to the volume and the cause of its state. */
export interface HintFacts {
  /** Whether its storage class exists. */
  readonly hasClass: boolean;
  /** The blocker of its deletion with the remedy; undefined without one. */
  readonly waitsFor: string | undefined;
  /** The reason why it is kept after its replica was scaled away; undefined if it was not. */
  readonly keptBecause: string | undefined;
}

/** Hints for the operator of a volume, in addition to the remedy of its state. Pure. */
export function volumeHints({ hasClass, waitsFor, keptBecause }: HintFacts): readonly string[] {
  const hints: string[] = [];
  if (waitsFor !== undefined) hints.push(waitsFor);
  if (keptBecause !== undefined) hints.push(keptBecause);
  if (!hasClass)
    hints.push(
      'its class does not exist any more; deletion and detach use the captured driverParameters',
    );
  return hints;
}
