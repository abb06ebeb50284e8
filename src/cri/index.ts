/** A `ContainerRuntime` for the agent over the Container Runtime Interface: containerd, CRI-O. */
export { createCRIRuntime, type CRIRuntimeOptions } from './create-cri-runtime.ts';
export type { CRIRuntime } from './cri-runtime.ts';
