import { posix } from 'node:path';
import { parseQuantity } from '../../object/index.js';

/** A string format: a test, and the rule for error messages. */
export interface Format {
  readonly test: (value: string) => boolean;
  readonly rule: string;
  /** True: a number is accepted too, and stored as its string. */
  readonly numberToo?: true;
}

/** The formats of `(kedge.rules).format`. */
export const formats: Readonly<Record<string, Format>> = {
  'dns-label': {
    test: (value) => value.length <= 63 && /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(value),
    rule: 'must be a DNS-1123 label: at most 63 characters a-z, 0-9 and -, starting and ending with a letter or digit',
  },
  'dns-subdomain': {
    test: (value) =>
      value.length <= 253 &&
      /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/.test(value),
    rule: 'must be a DNS-1123 subdomain: at most 253 characters a-z, 0-9, - and ., each part starting and ending with a letter or digit',
  },
  'object-reference': {
    test: (value) =>
      /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?\.svc)?$/.test(
        value,
      ),
    rule: 'must be a name, or <name>.<namespace>.svc for an object in another namespace',
  },
  'registry-host': {
    test: (value) =>
      value.length <= 253 &&
      /^(\*\.)?[a-z0-9]([-a-z0-9.]*[a-z0-9])?(:\d{1,5})?(\/[a-z0-9]+([-._]+[a-z0-9]+)*)*$/.test(
        value,
      ) &&
      !value.includes('..'),
    rule: 'must be a host, with a port and a path where it needs them, such as registry.example.com:5000 or registry.example.com/team, or *.example.com',
  },
  quantity: {
    test: (value) => (parseQuantity(value) ?? -1n) > 0n,
    rule: 'must be a Kubernetes quantity above zero, such as 10Gi (2^30), 5G (10^9) or a number of bytes',
    numberToo: true,
  },
  'int-or-string': {
    test: (value) => !value.includes('\0'),
    rule: 'must be a whole number, or a string without NUL characters',
    numberToo: true,
  },
  'date-time': {
    test: (value) =>
      value === '' ||
      (/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]\d{2}:\d{2})$/.test(value) &&
        Number.isFinite(Date.parse(value))),
    rule: 'must be a time in RFC 3339 format, such as 2026-01-01T00:00:00Z',
  },
  'absolute-path': {
    test: (value) =>
      value === '' ||
      (posix.isAbsolute(value) && !/(?:^|\/)\.\.(?:\/|$)/.test(value) && !value.includes('\0')),
    rule: 'must be an absolute path without .. segments',
  },
};
