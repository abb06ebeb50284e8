import type { ResourceRequirementsInput } from '../../kube/objects/types.ts';

/** A method of a `ContainerRuntime` that is recorded and can be scripted. */
export type RuntimeMethod =
  | 'listPods'
  | 'getPod'
  | 'runPodSandbox'
  | 'stopPodSandbox'
  | 'removePodSandbox'
  | 'createContainer'
  | 'startContainer'
  | 'stopContainer'
  | 'updateContainerResources'
  | 'removeContainer'
  | 'execSync'
  | 'pullImage'
  | 'imageRef'
  | 'status';

/** One recorded call; fields without a value for the method are absent. */
export interface RuntimeCall {
  readonly method: RuntimeMethod;
  readonly podUID?: string;
  /** The container's name in the spec. */
  readonly container?: string;
  readonly containerID?: string;
  readonly sandboxID?: string;
  readonly image?: string;
  readonly gracePeriodSeconds?: number;
  readonly command?: readonly string[];
  readonly resources?: ResourceRequirementsInput;
}

/** The calls that a script matches; an omitted field matches all. */
export type RuntimeCallMatch = Partial<Pick<RuntimeCall, 'method' | 'podUID' | 'container' | 'image'>>;

export function matchesCall(match: RuntimeCallMatch, call: RuntimeCall): boolean {
  return (Object.keys(match) as (keyof RuntimeCallMatch)[]).every(
    (field) => match[field] === undefined || match[field] === call[field],
  );
}
