import { hash, timingSafeEqual } from 'node:crypto';
import type { Entropy } from '../../shared/entropy.ts';
import { issuer, type ServiceAccountTokens } from './token-issuer.ts';
import type { Authenticated, User } from './users.ts';

/** The bearer tokens that one server accepts. Tokens do not appear in errors or logs. */
export class Tokens {
  readonly #users: { readonly digest: Buffer; readonly user: User }[] = [];
  readonly #serviceAccounts: ServiceAccountTokens;
  readonly #entropy: Entropy;

  constructor(serviceAccounts: ServiceAccountTokens, entropy: Entropy) {
    this.#serviceAccounts = serviceAccounts;
    this.#entropy = entropy;
  }

  /** @param token default: a random one */
  add(user: User, token = this.#entropy.bytes(24).toString('base64url')): string {
    this.#users.push({ digest: digestOf(token), user });
    return token;
  }

  userNamed(name: string): User | undefined {
    return this.#users.find(({ user }) => user.name === name)?.user;
  }

  /** The user of an `Authorization` header. */
  userOf(authorization: string | undefined): User | undefined {
    const token = /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1];
    return token === undefined ? undefined : this.authenticate(token, [issuer])?.user;
  }

  /** The user of a token that is for one of these audiences. */
  authenticate(token: string, audiences: readonly string[]): Authenticated | undefined {
    const user = this.#knownUser(token);
    if (user === undefined) return this.#serviceAccounts.authenticate(token, audiences);
    return audiences.includes(issuer) ? { user, audiences: [issuer] } : undefined;
  }

  /** Compared in constant time. */
  #knownUser(token: string): User | undefined {
    const digest = digestOf(token);
    let found: User | undefined;
    for (const known of this.#users) if (timingSafeEqual(known.digest, digest)) found = known.user;
    return found;
  }
}

function digestOf(token: string): Buffer {
  return hash('sha256', token, 'buffer');
}
