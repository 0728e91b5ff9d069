import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ValidatedApi } from '../../admission/validated-api.js';
import { type Read, Senders } from './senders.js';

/** A place where external text is parsed. */
export interface Surface {
  readonly name: string;
  /** The grammar's tokens, including invalid ones. */
  readonly tokens: readonly string[];
  /** The limit of the transport in characters, or a sufficient length for the measurement. */
  readonly charactersMax: number;
  /** Whether a server parses it: its event loop also serves other callers. */
  readonly served: boolean;
  /** Prepares the input. The returned function sends it and also resolves when it was refused. */
  readonly prepare: (text: string) => Read;
}

const headersMax = 15_000;
const messageMax = 4_100_000;

const quantityTokens = ['0', '1', '9', '.', '-', 'e', 'E', '+', 'Gi', 'k', ' '];
const pathTokens = ['/', '.', '..', 'a', '%2f', '%2e', ':', '-', '\0', ' '];
const selectorTokens = [
  'a',
  '=',
  '==',
  '!=',
  '!',
  ' ',
  '\t',
  '(',
  ')',
  ',',
  ' in ',
  ' notin ',
  '.',
];
const nameTokens = ['a', '0', '-', '.', 'svc', '.svc', '/', 'A', '_'];
const jsonTokens = [
  '{',
  '}',
  '[',
  ']',
  '"',
  ':',
  ',',
  '1',
  '"a"',
  '"a":',
  'null',
  '\\',
  ' ',
  '1e9',
];

/** Sends text to the API with the rules of every kind, over its own transports. */
export function apiSurfaces(api: ValidatedApi): {
  readonly surfaces: readonly Surface[];
  readonly close: () => void;
} {
  const senders = new Senders(api);
  const volume = (fields: object): Read =>
    senders.grpc('VolumeService/Create', 'CreateVolumeRequest', {
      namespace: 'default',
      dryRun: true,
      volume: {
        name: 'v',
        size: '1Gi',
        accessMode: 'ReadWriteOnce',
        storageClassName: 'local',
        ...fields,
      },
    });
  const service = (fields: object): Read =>
    senders.grpc('ServiceService/Create', 'CreateServiceRequest', {
      namespace: 'default',
      dryRun: true,
      service: { name: 's', runtime: 'process', command: ['true'], ...fields },
    });
  const listed = (field: string) => (text: string) =>
    senders.grpc('VolumeService/List', 'ListVolumesRequest', {
      namespace: 'default',
      [field]: text,
    });
  const long = (name: string, tokens: readonly string[], prepare: Surface['prepare']): Surface => ({
    name,
    tokens,
    charactersMax: messageMax,
    served: true,
    prepare,
  });
  const header = (name: string, tokens: readonly string[]): Surface => ({
    name: `header ${name}`,
    tokens,
    charactersMax: headersMax,
    served: true,
    prepare: (text) => senders.rest('GET', '/v1/namespaces/default/volumes', { [name]: text }),
  });
  const surfaces = [
    long('label selector', selectorTokens, listed('labelSelector')),
    long('field selector', [...selectorTokens, 'status', 'size'], listed('fieldSelector')),
    long('page token', ['a', '0', ':', '-', '.'], listed('pageToken')),
    long('quantity', quantityTokens, (size) => volume({ size })),
    long('name', nameTokens, (name) => volume({ name })),
    long('class name', nameTokens, (storageClassName) => volume({ storageClassName })),
    long('secret reference', ['secret:', ...nameTokens], (value) =>
      volume({ parameters: { fsType: value, hostPath: value } }),
    ),
    long('mount path', pathTokens, (mountPath) =>
      service({ volumes: [{ claim: { name: 'v' }, mountPath }] }),
    ),
    long('claim', nameTokens, (name) =>
      service({ volumes: [{ claim: { name }, mountPath: '/data' }] }),
    ),
    long('label key', ['a', '/', '.', ' ', '='], (key) => volume({ labels: { [key]: 'v' } })),
    long('JSON body', jsonTokens, (body) =>
      senders.rest('POST', '/v1/namespaces/default/volumes?dryRun=true', {}, body),
    ),
    long(
      'protobuf',
      ['\n\u0002', '\u0012', '\u0000', '\u0001', '\u001a\u0000', '\n', '\u0080', '"\u0002\n\u0000'],
      (text) => senders.unary('/api.VolumeService/Create', Buffer.from(text, 'latin1')),
    ),
    header('authorization', ['Bearer ', 'bearer', ' ', '\t', 'kedge_', '_', 'a', '0']),
    header('accept-encoding', ['gzip', ';', ' ', '\t', 'q=0', ',', '*', '.0']),
    header('if-match', ['"', ',', ' ', '4', 'W/', '*']),
    header('if-none-match', ['"', ',', ' ', '4', 'W/', '*']),
    {
      name: 'path',
      tokens: [
        '/',
        'v1',
        'namespaces',
        'default',
        'volumes',
        ':',
        '-',
        '%2e',
        '..',
        '?',
        '&',
        '=',
        ';',
      ],
      charactersMax: headersMax,
      served: true,
      prepare: (text: string) => senders.rest('GET', `/${text}`),
    },
  ];
  return { surfaces, close: () => senders.close() };
}

interface CastReader {
  readonly readCastFiles: (paths: readonly string[]) => Promise<unknown>;
}

/** Sends YAML to the command line, from a file in a directory. */
export async function castSurface(directory: string): Promise<Surface> {
  const file = join(directory, 'cast.yaml');
  const url = new URL('../../../../cmd/dist/kedge/files/cast-file.js', import.meta.url).href;
  const { readCastFiles } = (await import(url)) as CastReader;
  return {
    name: 'YAML',
    tokens: ['a', ': ', '\n', '- ', ' ', '  ', '{', '}', '[', ']', ',', '&x ', '*x', '"', "'"],
    // A character that is an error takes about ten microseconds.
    charactersMax: 200_000,
    served: false,
    prepare: (text) => {
      writeFileSync(file, text);
      return async () => {
        await readCastFiles([file]).catch(() => undefined);
        return 0;
      };
    },
  };
}
