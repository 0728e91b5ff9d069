import type { Modification, Shape, Timed } from './records.js';
import { Refusal } from './refusals.js';
import { limits } from './rules.js';
import type { State } from './state.js';
import { shapeOf } from './volumes.js';

/** Starts a modification: `modifying`, then `optimizing` with the new size, then `completed`. @throws Refusal */
export function modifyVolume(
  state: State,
  id: string,
  wanted: Partial<Shape>,
  request: Timed,
): Modification {
  const { now } = request;
  const volume = state.requireVolume(id, request.region);
  if (volume.state !== 'available') throw new Refusal('volumeState', id, volume.state);
  const own = state.modifications.filter((one) => one.volume === id);
  const running = own.find(({ state: at }) => at === 'modifying' || at === 'optimizing');
  if (running) throw new Refusal('modifying', id, running.state.toUpperCase());
  const since = now - limits.modificationWindowMs;
  const counted = own.filter(({ startedAt, state: at }) => startedAt > since && at !== 'failed');
  if (counted.length >= limits.modificationsMax) throw new Refusal('modificationRate');
  if (wanted.sizeGib !== undefined && wanted.sizeGib < volume.sizeGib) throw new Refusal('shrink');
  const { sizeGib, type, iops, throughput } = volume;
  const speed = (kept: boolean): Partial<Shape> =>
    kept
      ? {
          ...(iops === undefined ? {} : { iops }),
          ...(throughput === undefined ? {} : { throughput }),
        }
      : {};
  // Another type begins with its own speed; gp2 has one that follows from the size.
  const kept = (wanted.type ?? type) === type && type !== 'gp2';
  const to = shapeOf({ sizeGib, type, ...speed(kept), ...wanted });
  const from = { sizeGib, type, ...speed(true) };
  const modification: Modification = { volume: id, state: 'modifying', from, to, startedAt: now };
  const recent = state.modifications.filter((one) => one.volume !== id || one.startedAt > since);
  state.modifications = [...recent, modification];
  const takesMs = state.options.takesMs('modify');
  state.start({ type: 'modify', volume: id }, request, [`modification of ${id}`], takesMs);
  const later = takesMs + state.options.takesMs('optimize');
  state.start({ type: 'optimize', volume: id }, request, [], later);
  return modification;
}
