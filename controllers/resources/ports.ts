import type { FieldViolation } from 'kedge';
import type { ServicePort } from '@kedge/api/kinds';
import type { Needy } from './quantities.js';

/** The default protocol of a port. */
const protocolDefault = 'TCP';

/** A port of a node that a workload takes. */
export interface TakenPort {
  readonly name: string;
  readonly hostPort: number;
  readonly port: number;
  readonly protocol: 'TCP' | 'UDP';
}

/** Whether a workload listens on the network of its node. */
function usesNodeNetwork({ runtime, network }: Needy): boolean {
  return runtime === 'process' || network === 'host';
}

/** `80/TCP` */
export function portLabel(port: number, protocol: ServicePort['protocol']): string {
  return `${port}/${protocol ?? protocolDefault}`;
}

/** The ports of its node that a workload takes: all of its ports in the network of the node, else its host ports. */
export function takenPorts(template: Needy): readonly TakenPort[] {
  const onNode = usesNodeNetwork(template);
  return (template.ports ?? []).flatMap(({ name, port, hostPort, protocol = protocolDefault }) => {
    const taken = onNode ? port : hostPort;
    return taken === undefined ? [] : [{ name, hostPort: taken, port, protocol }];
  });
}

/** Templates never change, and placements compare each with many nodes. */
const needy = new WeakMap<Needy, boolean>();

/** Whether a template has resources, or takes ports of its node. */
export function isNeedy(template: Needy): boolean {
  let known = needy.get(template);
  if (known === undefined) {
    known = template.resources !== undefined || takenPorts(template).length > 0;
    needy.set(template, known);
  }
  return known;
}

/** The violations of `network`, `ports` and `init`. Ranges are checked by the schema. */
export function portViolations(
  template: Needy & { readonly init?: boolean },
): readonly FieldViolation[] {
  const { runtime, network, ports = [], init } = template;
  const violations: FieldViolation[] = [];
  const violation = (field: string, description: string): number =>
    violations.push({ field, description });
  if (runtime === 'process') {
    if (network !== undefined && network !== 'host')
      violation('network', 'a process uses the network of its node; omit this field');
    if (init !== undefined) violation('init', 'is not used by runtime process; remove it');
  }
  if (network === 'none' && ports.length > 0)
    violation('ports', 'need a network; remove them, or use network bridge');
  const names = new Set<string>();
  const listening = new Set<string>();
  const taken = new Set<string>();
  for (const [index, { name, port, hostPort, protocol }] of ports.entries()) {
    const at = `ports[${index}]`;
    if (names.has(name)) violation(`${at}.name`, `"${name}" is the name of another port`);
    names.add(name);
    const own = portLabel(port, protocol);
    if (listening.has(own)) violation(`${at}.port`, `${own} is listed twice; remove one`);
    listening.add(own);
    if (hostPort === undefined) continue;
    if (usesNodeNetwork(template) && hostPort !== port)
      violation(
        `${at}.hostPort`,
        `must be ${port} like port, or absent: the workload listens on the network of its node`,
      );
    const outer = portLabel(hostPort, protocol);
    if (taken.has(outer)) violation(`${at}.hostPort`, `${outer} is listed twice; remove one`);
    taken.add(outer);
  }
  return violations;
}
