import { type ApiObject, defineKind, kindOf } from '../../object/index.js';

/** A person or a program that owns tokens. */
export interface User extends ApiObject {
  readonly kind?: 'user' | 'serviceAccount';
  readonly email?: string;
  /** Names of policies. */
  readonly policies?: readonly string[];
  /**
   * The uid of each policy in `policies` at the grant; empty if there was none. Not in the schema, so that clients
   * neither see nor set it.
   */
  readonly policyUids?: Readonly<Record<string, string>>;
  /** Name of the node, for the service account of a node. */
  readonly node?: string;
  /** The uid of that node, set when the account is written, or once the node exists. Not in the schema. */
  readonly nodeUid?: string;
}

/** An allow rule: resources, verbs and namespaces. */
export interface PolicyRule {
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
  /** A cluster-scoped kind matches only `*`. */
  readonly namespaces: readonly string[];
}

/** A set of allow rules. */
export interface Policy extends ApiObject {
  readonly description?: string;
  readonly rules?: readonly PolicyRule[];
  readonly builtin?: boolean;
}

/** A bearer token. `name` is its id; only a hash of the secret is stored. */
export interface Token extends ApiObject {
  readonly subject: string;
  /** Uid of its user. Not in the schema. Absent: from a release that stored only the name. */
  readonly subjectUid?: string;
  /** Id of its parent token, on whose validity it depends. Absent: created on the machine itself. */
  readonly maker?: string;
  /**
   * The uid of the parent token. Not in the schema. Under another name, stored tokens would be read as tokens without a
   * parent, which do not end with it.
   */
  readonly makerUid?: string;
  readonly description?: string;
  readonly ttlSeconds?: number;
  /** SHA-256 of the secret, hexadecimal. Not in the schema, so never returned. */
  readonly secretHash?: string;
  readonly expiresAt?: string;
  /** Time of the last use, accurate to a minute. */
  readonly lastUsedAt?: string;
}

/** State of the cluster that must not be lost; never served. */
export interface SystemState extends ApiObject {
  readonly value: string;
}

/** The kind of users. */
export const users = kindOf<User>()({
  kind: 'User',
  plural: 'users',
  scope: 'Cluster',
  rarelyWritten: true,
  statusFields: [],
  columns: [
    { header: 'NAME', value: (o) => o.name },
    { header: 'KIND', value: (o) => o.kind ?? 'user' },
    { header: 'POLICIES', value: (o) => o.policies?.join(',') },
  ],
});

/** The kind of policies. */
export const policies = kindOf<Policy>()({
  kind: 'Policy',
  plural: 'policies',
  scope: 'Cluster',
  rarelyWritten: true,
  statusFields: ['builtin'],
  columns: [
    { header: 'NAME', value: (o) => o.name },
    { header: 'BUILTIN', value: (o) => o.builtin ?? false },
    { header: 'DESCRIPTION', value: (o) => o.description },
  ],
});

/** The kind of tokens. */
export const tokens = defineKind<Token>({
  kind: 'Token',
  plural: 'tokens',
  scope: 'Cluster',
  statusFields: ['subjectUid', 'maker', 'makerUid', 'secretHash', 'expiresAt', 'lastUsedAt'],
  columns: [
    { header: 'ID', value: (o) => o.name },
    { header: 'SUBJECT', value: (o) => o.subject },
    { header: 'LAST USED', value: (o) => o.lastUsedAt },
    { header: 'EXPIRES', value: (o) => o.expiresAt },
    { header: 'PARENT', value: (o) => o.maker },
    { header: 'DESCRIPTION', value: (o) => o.description },
  ],
});

/** The kind of the cluster's own state. */
export const systemStates = defineKind<SystemState>({
  kind: 'SystemState',
  plural: 'systemstates',
  scope: 'Cluster',
  statusFields: [],
});

/** The served kinds of the auth layer. */
export const authKinds = [users, policies, tokens] as const;
