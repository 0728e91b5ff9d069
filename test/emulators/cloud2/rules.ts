/** A location of the provider. */
export interface Location {
  readonly id: number;
  readonly name: string;
  readonly city: string;
  readonly country: string;
  readonly description: string;
  readonly latitude: number;
  readonly longitude: number;
  readonly network_zone: string;
}

function location(
  id: number,
  [name, city, country, zone]: readonly [string, string, string, string],
  [latitude, longitude]: readonly [number, number],
): Location {
  const description = `${city} DC Park 1`;
  return { id, name, city, country, description, latitude, longitude, network_zone: zone };
}

/** The locations of the emulated provider. */
export const locations: readonly Location[] = [
  location(1, ['fsn1', 'Falkenstein', 'DE', 'eu-central'], [50.47612, 12.370071]),
  location(2, ['nbg1', 'Nuremberg', 'DE', 'eu-central'], [49.452102, 11.076665]),
  location(3, ['hel1', 'Helsinki', 'FI', 'eu-central'], [60.169855, 24.938379]),
  location(4, ['ash', 'Ashburn, VA', 'US', 'us-east'], [39.045821, -77.487073]),
];

/** Limits of the provider. */
export const limits = {
  /** The provider's unit for sizes is called GB. */
  sizeMin: 10,
  sizeMax: 10_240,
  /** Maximum number of volumes of a server. */
  attachedMax: 16,
  perPage: 25,
  perPageMax: 50,
  nameMax: 64,
} as const;

/** Names and label values: letters, digits, dots, dashes and underscores; letters or digits at both ends. */
const plain = /^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$/;

export function isName(name: string): boolean {
  return plain.test(name) && name.length <= limits.nameMax;
}

/** Whether a value is a map of labels. A key may have a prefix, as in `svc.io/volume-id`; a value may be empty. */
export function areLabels(value: unknown): value is Readonly<Record<string, string>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  return Object.entries(value).every(([key, text]) => {
    const parts = key.split('/');
    const name = parts.at(-1) ?? '';
    const keyFits = parts.length <= 2 && name.length <= 63 && plain.test(name);
    const textFits = typeof text === 'string' && text.length <= 63;
    return keyFits && textFits && (text === '' || plain.test(text));
  });
}

/** Whether labels match a selector: `key`, `!key`, `key=value` and `key!=value`, separated by commas. */
export function selects(selector: string, labels: Readonly<Record<string, string>>): boolean {
  return selector.split(',').every((term) => {
    const [, key = '', operator, value] = /^([^!=]+)(!?==?)(.*)$/.exec(term) ?? [];
    if (operator === undefined)
      return term.startsWith('!') ? !(term.slice(1) in labels) : term in labels;
    return operator.startsWith('!') ? labels[key] !== value : labels[key] === value;
  });
}

/** Name of the link in /dev/disk/by-id that the system of a server creates for an attached volume. */
export function linkOf(id: number): string {
  return `scsi-0HC_Volume_${id}`;
}

/** Number of bytes in one of the provider's "GB". No publication states that it is 1024^3. */
export const gib = 2 ** 30;
