import {
  type DescMessage,
  fromBinary,
  fromJson,
  type JsonValue,
  toBinary,
  toJson,
} from '@bufbuild/protobuf';
import { apiSchemas } from '@kedge/api/client';
import { fromProtoJson, type JsonObject } from 'kedge/rpc';
import { type BenchOptions, compared, type Measurement } from '../measuring/measurement.js';

const schemas = apiSchemas();
const { registry } = schemas;

/** The codec of @bufbuild/protobuf, which builds a message object between bytes and JSON. */
const general = {
  encode: (message: DescMessage, json: JsonObject): Uint8Array =>
    toBinary(
      message,
      fromJson(message, json as JsonValue, { registry, ignoreUnknownFields: true }),
    ),
  decode: (message: DescMessage, bytes: Uint8Array): JsonObject =>
    fromProtoJson(message, toJson(message, fromBinary(message, bytes), { registry }) as JsonObject),
};

const metadata = {
  uid: '8c3d7a0e-51b4-4c1f-9c4e-1c5f6f0f3a77',
  resourceVersion: '120034',
  generation: 3,
  createdAt: '2026-11-26T06:00:00.000Z',
  updatedAt: '2026-11-26T06:00:01.000Z',
  annotations: { team: 'storage', ticket: 'none' },
};

/** Objects as they are in answers of the API. */
const objects: readonly (readonly [string, JsonObject])[] = [
  [
    'Configmap',
    {
      name: 'item-1',
      namespace: 'default',
      metadata,
      version: 1,
      data: { text: 'x'.repeat(1_024) },
    },
  ],
  [
    'Volume',
    {
      name: 'data-1',
      namespace: 'default',
      labels: { app: 'web', tier: 'front' },
      metadata,
      storageClassName: 'local',
      size: '10Gi',
      accessMode: 'ReadWriteOnce',
      status: 'Available',
      handle: 'vol-0123456789abcdef0',
      attempts: 1,
      sizeBytes: '10737418240',
      driver: 'local',
      topology: { node: 'node-1' },
      conditions: [
        { type: 'Ready', status: 'True', reason: 'Created', lastTransitionAt: metadata.updatedAt },
      ],
    },
  ],
];

/** Encodes and decodes objects of the API, compared with the codec of @bufbuild/protobuf. */
export function run({ quick }: BenchOptions): Promise<readonly Measurement[]> {
  const count = quick ? 100 : 1_000;
  const perSecond = (work: () => unknown): number => {
    const startedAt = performance.now();
    for (let n = 0; n < count; n += 1) work();
    return (count / (performance.now() - startedAt)) * 1_000;
  };
  return Promise.resolve(
    objects.flatMap(([kind, object]) => {
      const message = schemas.message(`api.${kind}`);
      const bytes = schemas.encode(message, object);
      const steps = {
        encode: [() => schemas.encode(message, object), () => general.encode(message, object)],
        decode: [() => schemas.decode(message, bytes), () => general.decode(message, bytes)],
      } as const;
      return Object.entries(steps).map(([step, [ours, baseline]]): Measurement => {
        // Short rounds: other load of the machine then meets both sides alike.
        const rounds = Array.from({ length: quick ? 1 : 301 }, () => ({
          baseline: perSecond(baseline),
          value: perSecond(ours),
        }));
        // The first ones include compilation.
        const { baselineValue, value, ratio } = compared(quick ? rounds : rounds.slice(100));
        return {
          name: `${step} a ${kind} of ${bytes.length} bytes`,
          unit: '/s',
          baseline: { what: '@bufbuild/protobuf', value: baselineValue },
          better: 'higher',
          gate: 1.3,
          goal: 2,
          value,
          ratio,
        };
      });
    }),
  );
}
