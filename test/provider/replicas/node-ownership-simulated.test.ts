import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Simulation } from './simulation.ts';

const replica = fc.nat(2);
const fault = fc.oneof(
  fc.record({ kind: fc.constantFrom('kill', 'restart', 'drain', 'stop', 'pause', 'cut off', 'jump'), replica }),
  fc.record({ kind: fc.constantFrom('server down', 'slow', 'lossy', 'delete a Lease', 'touch a Lease'), replica }),
);
const schedule = fc.record({
  seed: fc.nat(),
  nodes: fc.integer({ min: 1, max: 8 }),
  rates: fc.array(fc.double({ min: 0.98, max: 1.02, noNaN: true }), { minLength: 3, maxLength: 3 }),
  faults: fc.array(fc.record({ fault, forMs: fc.integer({ min: 100, max: 70_000 }) }), { minLength: 1, maxLength: 6 }),
});
type Schedule = typeof schedule extends fc.Arbitrary<infer T> ? T : never;

/** Applies one fault for a time. */
async function cause(world: Simulation, { fault, forMs }: Schedule['faults'][number]): Promise<void> {
  const { random, active } = world;
  const one = active[fault.replica % Math.max(1, active.length)];
  const names = world.leaseNames;
  const name = names[fault.replica % Math.max(1, names.length)];
  switch (fault.kind) {
    case 'kill':
      one?.kill();
      break;
    case 'restart':
      one?.kill();
      await world.pass(random.integer(0, 5_000));
      world.add();
      break;
    case 'drain':
    case 'stop':
      void one?.stop(fault.kind === 'drain');
      break;
    case 'pause':
      one?.pause();
      break;
    case 'cut off':
      if (one !== undefined) one.isCutOff = true;
      break;
    case 'jump':
      if (one !== undefined) one.wallOffsetMs += random.integer(-100_000, 100_000);
      break;
    case 'server down':
      world.isServerDown = true;
      break;
    case 'slow':
      world.delaysMs = [100, 4_000];
      break;
    case 'lossy':
      world.loss = 0.3;
      break;
    case 'delete a Lease':
      if (name !== undefined) world.serve('DELETE', name, undefined);
      break;
    default:
      if (name !== undefined) {
        const lease = world.serve('GET', name, undefined) as { metadata: object };
        world.serve('PUT', name, { ...lease, metadata: { ...lease.metadata, annotations: { touched: `${forMs}` } } });
      }
  }
  await world.pass(forMs);
  world.isServerDown = false;
  world.delaysMs = [1, 30];
  world.loss = 0;
  for (const replica of world.replicas) {
    replica.isCutOff = false;
    replica.continue();
  }
}

describe('any interleaving of delays, losses, kills, stops, outages and clock jumps', () => {
  it('a node never has two owners, epochs grow, and every node has one of the live replicas within 20 s', async () => {
    await fc.assert(
      fc.asyncProperty(schedule, async ({ seed, nodes, rates, faults }) => {
        const world = new Simulation(String(seed), nodes);
        for (const rate of rates) {
          world.add({}, rate);
          await world.pass(world.random.integer(0, 3_000));
        }
        await world.pass(world.random.integer(0, 30_000));
        for (const one of faults) await cause(world, one);
        if (world.active.length === 0) world.add();
        await world.pass(20_000);
        expect(world.violations).toEqual([]);
        expect(world.nodesWithoutOwner).toEqual([]);
        const share = Math.ceil(nodes / world.active.length);
        const isEven = (): boolean =>
          world.nodesWithoutOwner.length === 0 && world.ownedCounts().every((count) => count <= share);
        for (let i = 0; i < 100 && !isEven(); i++) await world.pass(2_000);
        expect(isEven()).toBe(true);
        expect(world.violations).toEqual([]);
        await Promise.all(world.active.map((replica) => replica.kill()));
      }),
      // More by hand: RUNS=3000.
      { numRuns: Number(process.env['RUNS'] ?? 30) },
    );
  });
});
