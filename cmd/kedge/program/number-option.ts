import { invalid } from 'kedge/objects';

/** The maximum wait in seconds: timers of Node.js have no larger delay. */
export const waitSecondsMax = 2_147_483;

/**
 * Parses an option that is a whole number, before any request.
 * @param flag the option as typed, such as `--tail`
 * @returns the parser of the option's text
 * @throws StatusError InvalidArgument with the option, its text and the range (from the parser)
 */
export function wholeNumber(flag: string, max: number): (text: string) => number {
  return (text) => {
    const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
    if (value <= max) return value;
    const description = `${JSON.stringify(text)} must be a whole number from 0 to ${max}`;
    throw invalid([{ field: flag, description }]);
  };
}
