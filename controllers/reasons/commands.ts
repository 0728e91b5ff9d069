import type { Instance } from '@kedge/api/kinds';
import { shellWord } from '../messages/shell-word.js';
import { findByKey, type Subject, type World } from './world.js';

/** The name of an object on the command line. */
export interface Named {
  readonly name: string;
  readonly namespace?: string;
}

/** ` -n default`; empty for a kind without namespaces. */
export function inNamespace({ namespace }: Named): string {
  return namespace ? ` -n ${shellWord(namespace)}` : '';
}

/** A text quoted as one word of a shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/**
 * `kedge VERB TYPE/NAME -n NAMESPACE`. Names from messages are quoted: the agent of a node writes messages, and another
 * user types the command.
 */
export function command(verb: string, type: string, named: Named, more = ''): string {
  const object = shellWord(`${type}/${named.name}`);
  return `kedge ${verb} ${object}${inNamespace(named)}${more === '' ? '' : ` ${more}`}`;
}

/** A command that changes some fields. */
export function patchOf(type: string, named: Named, patch: object): string {
  return command('patch', type, named, `--patch ${quoted(JSON.stringify(patch))}`);
}

/** The command that deletes the object of a subject. */
export function deletionOf({ kind, object }: Subject): string {
  return command('delete', kind.toLowerCase(), object);
}

/** The command that stores an object from standard input, without a file. */
export function castOf(lines: readonly string[]): string {
  return `printf '%s\\n' ${lines.map(quoted).join(' ')} | kedge cast --no-wait -`;
}

/** The command that creates an object in a namespace, after the creation of the namespace if that does not exist. */
export function creationIn(
  namespace: string,
  { absentNamespaces = [] }: World,
  creation: string,
): string {
  if (!absentNamespaces.includes(namespace)) return creation;
  return `kedge create namespace ${shellWord(namespace)} && ${creation}`;
}

/** The service of an instance. */
export function serviceOf({ namespace, service }: Instance): Required<Named> {
  return { namespace, name: service };
}

/** The service of an instance, by the key of the instance. */
export function serviceOfClaim(claim: string, { instances }: World): Required<Named> {
  const [namespace = '', name = ''] = claim.split('/');
  const known: Instance | undefined = findByKey(instances, claim);
  return { namespace, name: known?.service ?? name.replace(/-\d+$/, '') };
}

/** The command that stops the user of a volume. */
export function scaleToNothing(claim: string, world: World): string {
  return command('scale', 'service', serviceOfClaim(claim, world), '--replicas 0');
}
