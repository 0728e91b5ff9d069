import { type FieldViolation, parseMilliQuantity, parseQuantity } from 'kedge/objects';
import type { Needy } from './quantities.js';

/** The smallest limits that container engines accept. */
const cpuMillisMin = 10n;
const memoryBytesMin = 6n << 20n;

/** The violations of `resources`. Formats are checked by the schema. */
export function resourceViolations({ runtime, resources }: Needy): readonly FieldViolation[] {
  const { cpu, memory, sharedMemory } = resources ?? {};
  const violations: FieldViolation[] = [];
  const violation = (field: string, description: string): number =>
    violations.push({ field: `resources.${field}`, description });
  for (const [name, amount, parse] of [
    ['cpu', cpu, parseMilliQuantity],
    ['memory', memory, parseQuantity],
  ] as const) {
    const { request, limit } = amount ?? {};
    if (request && limit && (parse(request) ?? 0n) > (parse(limit) ?? 0n))
      violation(`${name}.request`, `${request} is more than the limit ${limit}; lower it`);
  }
  if (cpu?.limit && (parseMilliQuantity(cpu.limit) ?? 0n) < cpuMillisMin)
    violation('cpu.limit', `${cpu.limit} is less than ${cpuMillisMin}m, the smallest limit`);
  if (memory?.limit && (parseQuantity(memory.limit) ?? 0n) < memoryBytesMin)
    violation('memory.limit', `${memory.limit} is less than 6Mi, the smallest limit`);
  if (sharedMemory && runtime === 'process')
    violation('sharedMemory', 'is not used by runtime process; remove it');
  return violations;
}
