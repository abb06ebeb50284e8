/** Compiles, or the agent's wrapper of the runtime may forget a method. Nothing here runs. */
import type { CallOptions, ContainerRuntime } from '../../src/agent/index.ts';
import { type RuntimeCalls, runtimeCalls } from '../../src/node/runtime/bounded-runtime.ts';

interface GrownRuntime extends ContainerRuntime {
  pausePod?(podUID: string, options?: CallOptions): Promise<void>;
}

const operation = 'pause_pod';

// @ts-expect-error: `pausePod` has no row.
export const forgotten: RuntimeCalls<GrownRuntime> = { ...runtimeCalls };
export const complete: RuntimeCalls<GrownRuntime> = { ...runtimeCalls, pausePod: { operation, parameters: 2 } };
// @ts-expect-error: its options would be taken for its first argument.
export const miscounted: RuntimeCalls<GrownRuntime> = { ...runtimeCalls, pausePod: { operation, parameters: 1 } };
// @ts-expect-error: a method that returns a promise needs a time-out.
export const unbounded: RuntimeCalls<GrownRuntime> = { ...runtimeCalls, pausePod: 'unbounded' };
