import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';

/** The user of a bearer token. */
export interface User {
  readonly name: string;
  /** Set for a node's own user: the name of its Node. */
  readonly node: string | undefined;
}

export const admin: User = { name: 'system:admin', node: undefined };

/** The tokens of one server and their users. Tokens do not appear in errors or logs. */
export class Tokens {
  readonly #users: { readonly digest: Buffer; readonly user: User }[] = [];

  /** @param token default: a random one */
  add(user: User, token = randomBytes(24).toString('base64url')): string {
    this.#users.push({ digest: digestOf(token), user });
    return token;
  }

  userNamed(name: string): User | undefined {
    return this.#users.find(({ user }) => user.name === name)?.user;
  }

  /** The user of an `Authorization` header, compared in constant time. */
  userOf(authorization: string | undefined): User | undefined {
    const token = /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1];
    if (token === undefined) return undefined;
    const digest = digestOf(token);
    let found: User | undefined;
    for (const known of this.#users) if (timingSafeEqual(known.digest, digest)) found = known.user;
    return found;
  }
}

function digestOf(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}
