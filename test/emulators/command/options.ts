import { hostname } from 'node:os';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';

/** Options of `npm run emulators`. */
export interface CommandOptions {
  readonly cloud1Port: number;
  readonly cloud2Port: number;
  readonly cloud3Port: number;
  /** Port of the metadata service of the node at cloud3. */
  readonly cloud3MetadataPort: number;
  readonly cloud4Port: number;
  /** Port of the metadata server of the node at cloud4. */
  readonly cloud4MetadataPort: number;
  /** Absolute path of the directory for state and disks. */
  readonly directory: string;
  readonly node: string;
  /** Whether to serve only the APIs, without devices for volumes. */
  readonly withoutDevices: boolean;
  /** Whether to detach the devices below the directory and to remove it, instead of a start. */
  readonly remove: boolean;
}

export const usage = `usage: npm run emulators -- [OPTION...]
Runs providers that behave like DigitalOcean (cloud1), Hetzner Cloud (cloud2), Amazon EC2 (cloud3) and Google Compute
Engine (cloud4) on this machine.
  --cloud1-port N     port of cloud1, default 9701
  --cloud2-port N     port of cloud2, default 9702
  --cloud3-port N     port of cloud3, default 9703
  --cloud3-metadata-port N  port of the instance metadata of cloud3, default 9713
  --cloud4-port N     port of cloud4, default 9704
  --cloud4-metadata-port N  port of the instance metadata of cloud4, default 9714
  --directory D       state and disks, default emulated-clouds
  --node NAME         name of the node that attaches volumes, default the name of this machine
  --without-devices   the APIs alone; needs no root
  --remove            detach the devices below the directory, remove it, and end
  --help              print this`;

function port(text: string, option: string): number {
  const value = /^\d+$/.test(text) ? Number(text) : -1;
  if (value >= 0 && value <= 65_535) return value;
  throw new TypeError(`--${option} ${text}: a port is a number from 0 to 65535`);
}

/** Parses a command line. Returns undefined if it requests the usage. @throws TypeError naming the wrong option */
export function commandOptions(args: readonly string[]): CommandOptions | undefined {
  const text = (fallback: string) => ({ type: 'string', default: fallback }) as const;
  const flag = { type: 'boolean', default: false } as const;
  const { values } = parseArgs({
    args: [...args],
    options: {
      'cloud1-port': text('9701'),
      'cloud2-port': text('9702'),
      'cloud3-port': text('9703'),
      'cloud3-metadata-port': text('9713'),
      'cloud4-port': text('9704'),
      'cloud4-metadata-port': text('9714'),
      directory: text('emulated-clouds'),
      node: text(hostname()),
      'without-devices': flag,
      remove: flag,
      help: flag,
    },
  });
  if (values.help) return undefined;
  return {
    cloud1Port: port(values['cloud1-port'], 'cloud1-port'),
    cloud2Port: port(values['cloud2-port'], 'cloud2-port'),
    cloud3Port: port(values['cloud3-port'], 'cloud3-port'),
    cloud3MetadataPort: port(values['cloud3-metadata-port'], 'cloud3-metadata-port'),
    cloud4Port: port(values['cloud4-port'], 'cloud4-port'),
    cloud4MetadataPort: port(values['cloud4-metadata-port'], 'cloud4-metadata-port'),
    directory: resolve(values.directory),
    node: values.node,
    withoutDevices: values['without-devices'],
    remove: values.remove,
  };
}
