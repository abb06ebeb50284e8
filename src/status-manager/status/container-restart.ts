import { requireObject } from '../../shared/errors.ts';
import type { Container, ContainerRestartRule, PodSpec } from '../../kube/objects/types.ts';

/**
 * True when a container that exited with `exitCode` must be restarted: by its own restart rules and
 * policy if it has them, otherwise by the pod's policy. A missing or unknown policy means `Always`.
 * Source: kubelet `ContainerShouldRestart`.
 */
export function containerShouldRestart(container: Container, podSpec: PodSpec, exitCode: number): boolean {
  requireObject('container', container);
  requireObject('podSpec', podSpec);
  if (container.restartPolicy != null) {
    const action = matchingRestartRule(container, exitCode)?.action;
    if (action === 'Restart' || action === 'RestartAllContainers') return true;
    const byOwnPolicy = policyRestarts(container.restartPolicy, exitCode);
    if (byOwnPolicy !== undefined) return byOwnPolicy;
  }
  return policyRestarts(podSpec.restartPolicy, exitCode) ?? true;
}

/**
 * The container's first restart rule that matches `exitCode`. Source: kubelet
 * `FindMatchingContainerRestartRule`.
 */
export function matchingRestartRule(container: Container, exitCode: number): ContainerRestartRule | undefined {
  return container.restartPolicyRules?.find(({ exitCodes }) => {
    if (exitCodes == null) return false;
    const isListed = exitCodes.values?.includes(exitCode) ?? false;
    return (exitCodes.operator === 'In' && isListed) || (exitCodes.operator === 'NotIn' && !isListed);
  });
}

/** True when the exit of some container or init container can restart all containers of the pod. */
export function hasRestartAllContainersRule(podSpec: PodSpec): boolean {
  return hasSuchRule(podSpec.containers) || hasSuchRule(podSpec.initContainers);
}

function hasSuchRule(containers: readonly Container[] | undefined): boolean {
  return (
    containers?.some(
      ({ restartPolicyRules }) => restartPolicyRules?.some(({ action }) => action === 'RestartAllContainers') ?? false,
    ) ?? false
  );
}

/** A sidecar: an init container that runs beside the regular ones. Source: kubelet `IsRestartableInitContainer`. */
export function isRestartableInitContainer(container: Container): boolean {
  return container.restartPolicy === 'Always';
}

function policyRestarts(restartPolicy: string | undefined, exitCode: number): boolean | undefined {
  switch (restartPolicy) {
    case 'Always':
      return true;
    case 'OnFailure':
      return exitCode !== 0;
    case 'Never':
      return false;
    default:
      return undefined;
  }
}
