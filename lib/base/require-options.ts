/** The rule of an option. */
export interface OptionRule {
  fits(value: unknown): boolean;
  /** The expected value, as text that follows "give" in the message. */
  readonly give: string;
  /** Whether the option may be absent. */
  readonly optional?: boolean;
}

const shownMax = 60;

function shown(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, shownMax));
  if (typeof value === 'object' && value !== null)
    return 'an object without the methods that are needed';
  return typeof value === 'function' ? 'a function' : String(value);
}

/** Accepts an object or a function that has all of these methods. */
export function withMethods(give: string, ...names: readonly string[]): OptionRule {
  const fits = (value: unknown): boolean => {
    if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return false;
    const object = value as Readonly<Record<string, unknown>>;
    return names.every((name) => typeof object[name] === 'function');
  };
  return { give, fits };
}

/** Accepts a string that is not empty. */
export function someText(give: string): OptionRule {
  return { give, fits: (value) => typeof value === 'string' && value !== '' };
}

function optional(rule: OptionRule): OptionRule {
  return { ...rule, optional: true };
}

/** Rules for the optional dependencies of most components: clock, random, logger, metrics. */
export const portRules = {
  clock: optional(withMethods('a Clock, or omit it', 'now', 'monotonic', 'setTimer')),
  random: optional(withMethods('a Random, or omit it', 'next', 'uuid')),
  logger: optional(withMethods('a Logger, or omit it', 'debug', 'info', 'warn', 'error')),
  metrics: optional(withMethods('Metrics, or omit it', 'counter', 'gauge', 'histogram')),
} as const satisfies Readonly<Record<string, OptionRule>>;

/** The rule of an option that is an object store. */
export const storeRule: OptionRule = withMethods(
  'the store that openStore returns',
  'get',
  'list',
  'transact',
);

/**
 * Checks options at run time, for callers that bypass the types.
 * @param of name of the constructed class or function, for the message
 * @throws TypeError that names the option, its value and the expected value
 */
export function requireOptions(
  of: string,
  options: unknown,
  rules: Readonly<Record<string, OptionRule>>,
): void {
  if (typeof options !== 'object' || options === null) {
    const needed = Object.keys(rules).filter((name) => rules[name]?.optional !== true);
    throw new TypeError(
      `${of}: its options are ${shown(options)}; give an object with ${needed.join(', ')}`,
    );
  }
  const given = options as Readonly<Record<string, unknown>>;
  for (const [name, rule] of Object.entries(rules)) {
    const value = given[name];
    if (value === undefined && rule.optional === true) continue;
    if (!rule.fits(value))
      throw new TypeError(`${of}: ${name} is ${shown(value)}; give ${rule.give}`);
  }
}
