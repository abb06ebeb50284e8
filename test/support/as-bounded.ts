import type { Bounded } from '../../src/shared/bounded-port.ts';

/** A port whose calls end on their own, for code that takes a `Bounded` port. */
export function asBounded<Port>(port: Port): Bounded<Port> {
  return port as Bounded<Port>;
}
