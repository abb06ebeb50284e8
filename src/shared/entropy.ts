import { randomBytes, randomInt, randomUUID } from 'node:crypto';

/** The source of unguessable, unique values: UIDs, tokens and random names. */
export interface Entropy {
  uuid(): string;
  bytes(count: number): Buffer;
  /** An integer ≥ 0 and < `max`. */
  integer(max: number): number;
}

export const systemEntropy: Entropy = {
  uuid: () => randomUUID(),
  bytes: (count) => randomBytes(count),
  integer: (max) => randomInt(max),
};

/** The default source of jitter: a number in [0, 1). */
export const systemRandom = (): number => Math.random();
