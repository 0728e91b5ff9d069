import type { FieldViolation } from 'kedge';
import type { DataMount, Service, VolumeMount } from './kind.js';
import { isAtOrBelow, mountPathProblem, normalMountPath, subPathProblem } from './mount-path.js';

/** A mount path and its field. */
interface MountedAt {
  readonly field: string;
  readonly path: string;
  /** Whether the mount may neither contain another one nor be inside one: true for files of secrets and configmaps. */
  readonly alone: boolean;
}

/** The violations of `volumes`, `secretMounts` and `configmapMounts`, alone and together. */
export function mountViolations(service: Service): FieldViolation[] {
  const { volumes = [], secretMounts = [], configmapMounts = [] } = service;
  const at =
    (field: string, alone: boolean) => (mount: { readonly mountPath: string }, n: number) => ({
      field: `${field}[${n}]`,
      path: mount.mountPath,
      alone,
    });
  return [
    ...volumeViolations(volumes),
    ...dataViolations('secretMounts', secretMounts),
    ...dataViolations('configmapMounts', configmapMounts),
    ...pathViolations([
      ...volumes.map(at('volumes', false)),
      ...secretMounts.map(at('secretMounts', true)),
      ...configmapMounts.map(at('configmapMounts', true)),
    ]),
  ];
}

/** The violations of mount paths: they are absolute, not blocked, unique, and do not overlap mounted files. */
function pathViolations(mounts: readonly MountedAt[]): FieldViolation[] {
  const violations: FieldViolation[] = [];
  const normals = mounts.map(({ path }) => normalMountPath(path));
  for (const [index, { field, path, alone }] of mounts.entries()) {
    const problem = mountPathProblem(path);
    const violation = (description: string): FieldViolation => ({
      field: `${field}.mountPath`,
      description: `${JSON.stringify(path)} ${description}`,
    });
    if (problem !== undefined) violations.push(violation(problem));
    const normal = normals[index] ?? path;
    for (const [earlier, other] of mounts.slice(0, index).entries()) {
      const taken = normals[earlier] ?? other.path;
      if (taken === normal) {
        violations.push(violation(`is also the path of ${other.field}; choose different paths`));
        break;
      }
      const overlaps = isAtOrBelow(normal, taken) || isAtOrBelow(taken, normal);
      if (!overlaps || !(alone || other.alone)) continue;
      violations.push(
        violation(
          `overlaps ${JSON.stringify(other.path)} of ${other.field}; choose paths of which none contains the other`,
        ),
      );
      break;
    }
  }
  return violations;
}

function volumeViolations(mounts: readonly VolumeMount[]): FieldViolation[] {
  const violations: FieldViolation[] = [];
  const names = new Set<string>();
  for (const [index, mount] of mounts.entries()) {
    const at = `volumes[${index}]`;
    if ((mount.claim === undefined) === (mount.claimTemplate === undefined))
      violations.push({
        field: at,
        description: 'must have exactly one of claim and claimTemplate',
      });
    for (const field of ['fsUser', 'fsGroup'] as const)
      if (mount.readOnly === true && mount[field] !== undefined)
        violations.push({
          field: `${at}.${field}`,
          description: 'is not allowed for a read-only mount; remove it or readOnly',
        });
    if (names.has(mount.name))
      violations.push({ field: `${at}.name`, description: `"${mount.name}" is used twice` });
    names.add(mount.name);
    const sub = subPathProblem(mount.subPath ?? '');
    if (sub !== undefined)
      violations.push({
        field: `${at}.subPath`,
        description: `${JSON.stringify(mount.subPath)} ${sub}`,
      });
  }
  return violations;
}

/** The violations of the file paths in `items`: malformed paths, and files that can't coexist. */
function dataViolations(list: string, mounts: readonly DataMount[]): FieldViolation[] {
  return mounts.flatMap((mount, index) => {
    const files = new Files();
    return (mount.items ?? []).flatMap(({ path }, n): FieldViolation[] => {
      const problem = filePathProblem(path) ?? clash(path, files);
      if (problem === undefined) return [];
      const field = `${list}[${index}].items[${n}].path`;
      return [{ field, description: `${JSON.stringify(path)} ${problem}` }];
    });
  });
}

/** The violation of a file path of a mounted secret or configmap, or undefined. */
export function filePathProblem(path: string): string | undefined {
  if (path === '' || path.startsWith('/') || /[\n\t\0]/.test(path))
    return 'must be a relative path without tabs, line breaks and NUL characters';
  const parts = path.split('/');
  if (parts.some((part) => part === '' || part === '.' || part === '..'))
    return 'must not contain an empty, "." or ".." segment';
  // Names with ".." at their beginning are used to replace versions of files atomically.
  return parts[0]?.startsWith('..') ? 'must not start with ".."' : undefined;
}

function clash(path: string, files: Files): string | undefined {
  const other = files.add(path);
  if (other === undefined) return undefined;
  return other === path ? 'is used twice' : `conflicts with the file ${JSON.stringify(other)}`;
}

interface Folder {
  /** A file at this path or below. */
  readonly file: string;
  readonly children: Map<string, Folder>;
}

/** File paths by segments: a new path is compared only with the paths in its own folders. */
class Files {
  readonly #root: Folder = { file: '', children: new Map() };

  /** Adds a path. Returns the file that conflicts with it; undefined if there is none. */
  add(path: string): string | undefined {
    let at = this.#root;
    let isNew = false;
    for (const part of path.split('/')) {
      const child: Folder = at.children.get(part) ?? { file: path, children: new Map() };
      isNew = !at.children.has(part);
      at.children.set(part, child);
      at = child;
      // An existing entry without children is a file.
      if (!isNew && child.children.size === 0) return child.file;
    }
    return isNew ? undefined : at.file;
  }
}
