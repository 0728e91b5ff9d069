import { type ApiObject, defineKind, kindOf } from '../../object/index.js';

/** A person or a program that tokens speak for. */
export interface User extends ApiObject {
  readonly kind?: 'user' | 'serviceAccount';
  readonly email?: string;
  /** Names of policies. */
  readonly policies?: readonly string[];
  /**
   * The uid of each name in `policies` when it was granted; empty: there was none. Not in the schema, so that
   * clients neither see nor set it.
   */
  readonly policyUids?: Readonly<Record<string, string>>;
  /** Of a service account that is a node's. */
  readonly node?: string;
  /** The uid of that node, from when the account first met it. Not in the schema. */
  readonly nodeUid?: string;
}

/** Resources, verbs and namespaces that belong together. */
export interface PolicyRule {
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
  /** Cluster-scoped kinds match `*` only. */
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
  /** The uid of that token. Not in the schema. */
  readonly makerUid?: string;
  readonly description?: string;
  readonly ttlSeconds?: number;
  /** SHA-256 of the secret, hex. Not in the schema, so never returned. */
  readonly secretHash?: string;
  readonly expiresAt?: string;
  /** To the minute. */
  readonly lastUsedAt?: string;
}

/** Facts about the installation that must not be lost; never served. */
export interface SystemState extends ApiObject {
  readonly value: string;
}

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
    { header: 'MADE WITH', value: (o) => o.maker },
    { header: 'DESCRIPTION', value: (o) => o.description },
  ],
});

export const systemStates = defineKind<SystemState>({
  kind: 'SystemState',
  plural: 'systemstates',
  scope: 'Cluster',
  statusFields: [],
});

/** The kinds of the auth layer that are served. */
export const authKinds = [users, policies, tokens] as const;
