/** A `ContainerRuntime` for the agent whose containers are processes of the agent's user. */
export { createProcessRuntime } from './create-process-runtime.ts';
export type { ProcessRuntime, ProcessRuntimeOptions } from './process-runtime-options.ts';
