import { generateKeyPairSync, type KeyObject, type KeyPairKeyObjectResult, sign, verify } from 'node:crypto';
import type { Clock } from '../../shared/clock.ts';
import type { Entropy } from '../../shared/entropy.ts';
import { epochMsOf } from '../../shared/time.ts';
import type { ObjectStore } from '../storage/store.ts';
import type { StoredObject } from '../storage/objects.ts';
import type { Authenticated } from './users.ts';

/** The issuer of the tokens, and the audience of the API server. */
export const issuer = 'https://kubernetes.default.svc';
/** For clocks that differ. Source: go-jose `DefaultLeeway`. */
const leewayMs = 60_000;
const header = encoded({ alg: 'ES256', typ: 'JWT' });

interface Reference {
  readonly name: string;
  readonly uid: string;
}

/** What a token is bound to, beside its ServiceAccount; the node of a pod is only shown. */
export interface BoundObjects {
  readonly pod?: Reference;
  readonly secret?: Reference;
  readonly node?: { readonly name: string; readonly uid?: string };
}

interface Claims {
  readonly aud: readonly string[];
  readonly exp: number;
  readonly jti: string;
  readonly 'kubernetes.io': BoundObjects & { readonly namespace: string; readonly serviceaccount: Reference };
}

/** Signs the tokens of ServiceAccounts and verifies them. Source: `pkg/serviceaccount`. */
export class ServiceAccountTokens {
  readonly #store: ObjectStore;
  readonly #clock: Clock;
  readonly #entropy: Entropy;
  #keys: KeyPairKeyObjectResult | undefined;

  /** @param keys what tokens are signed with; default: new ones */
  constructor(store: ObjectStore, clock: Clock, entropy: Entropy, keys?: KeyPairKeyObjectResult) {
    this.#keys = keys;
    this.#store = store;
    this.#clock = clock;
    this.#entropy = entropy;
  }

  /** @param nowMs when it becomes valid */
  issue(
    { metadata }: StoredObject,
    bound: BoundObjects,
    options: { readonly audiences: readonly string[]; readonly nowMs: number; readonly expirationSeconds: number },
  ): string {
    const { namespace = '', name, uid } = metadata;
    const now = Math.floor(options.nowMs / 1000);
    const claims = {
      ...{ iss: issuer, sub: userName(namespace, name), aud: options.audiences, jti: this.#entropy.uuid() },
      ...{ iat: now, nbf: now, exp: now + options.expirationSeconds },
      'kubernetes.io': { namespace, serviceaccount: { name, uid }, ...bound },
    };
    const signed = `${header}.${encoded(claims)}`;
    const signature = sign('sha256', Buffer.from(signed), { key: this.#key('privateKey'), dsaEncoding: 'ieee-p1363' });
    return `${signed}.${signature.toString('base64url')}`;
  }

  /** Undefined unless the token was issued here for one of the audiences, and it and what it is bound to are valid. */
  authenticate(token: string, wanted: readonly string[]): Authenticated | undefined {
    const claims = this.#verified(token);
    if (claims === undefined || this.#clock.now() > claims.exp * 1000 + leewayMs) return undefined;
    const audiences = wanted.filter((audience) => claims.aud.includes(audience));
    const { namespace, serviceaccount, pod, secret, node } = claims['kubernetes.io'];
    const isValid =
      audiences.length > 0 &&
      this.#exists('serviceaccounts', namespace, serviceaccount) &&
      (pod === undefined || this.#exists('pods', namespace, pod)) &&
      (secret === undefined || this.#exists('secrets', namespace, secret)) &&
      (node === undefined || pod !== undefined || this.#exists('nodes', '', node));
    if (!isValid) return undefined;
    const extra = {
      ...(pod && { 'pod-name': [pod.name], 'pod-uid': [pod.uid] }),
      'credential-id': [`JTI=${claims.jti}`],
      ...(node && { 'node-name': [node.name] }),
      ...(node?.uid !== undefined && { 'node-uid': [node.uid] }),
    };
    const user = {
      ...{ name: userName(namespace, serviceaccount.name), node: undefined, uid: serviceaccount.uid },
      groups: ['system:serviceaccounts', `system:serviceaccounts:${namespace}`],
      extra: Object.fromEntries(
        Object.entries(extra).map(([key, value]) => [`authentication.kubernetes.io/${key}`, value]),
      ),
    };
    return { user, audiences };
  }

  #verified(token: string): Claims | undefined {
    const [head, payload = '', signature = '', ...more] = token.split('.');
    if (head !== header || more.length > 0) return undefined;
    const key = { key: this.#key('publicKey'), dsaEncoding: 'ieee-p1363' } as const;
    const isSigned = verify('sha256', Buffer.from(`${head}.${payload}`), key, Buffer.from(signature, 'base64url'));
    return isSigned ? (JSON.parse(Buffer.from(payload, 'base64url').toString()) as Claims) : undefined;
  }

  /** Whether it is still the same object, and was not deleted long ago. */
  #exists(table: string, namespace: string, { name, uid }: { readonly name: string; readonly uid?: string }): boolean {
    const { metadata } = this.#store.get(table, namespace, name) ?? {};
    if (metadata === undefined || metadata.uid !== uid) return false;
    const { deletionTimestamp } = metadata;
    return deletionTimestamp === undefined || epochMsOf(deletionTimestamp) >= this.#clock.now() - leewayMs;
  }

  /** Made for the first token: most servers issue none. */
  #key(half: keyof KeyPairKeyObjectResult): KeyObject {
    this.#keys ??= generateKeyPairSync('ec', { namedCurve: 'P-256' });
    return this.#keys[half];
  }
}

function userName(namespace: string, name: string): string {
  return `system:serviceaccount:${namespace}:${name}`;
}

function encoded(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}
