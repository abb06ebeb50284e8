import type { World } from './world.ts';

/**
 * What is simulated: one file or folder for each. README.md beside this file says how to write one.
 */
export interface Setting {
  readonly name: string;
  /**
   * Builds the parts of the world, lets things happen to them for `world.size.forMs`, then lets all settle, and checks the
   * guarantees all the time: `world.violate`. Runs inside of events; resolves when all has ended and nothing is left.
   */
  readonly run: (world: World) => Promise<void>;
}
