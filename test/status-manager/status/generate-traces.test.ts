import { describe, expect, it } from 'vitest';
import {
  generateContainersReadyCondition,
  generatePodInitializedCondition,
  generatePodReadyCondition,
  needToReconcilePodReadiness,
} from '../../../src/status-manager/status/generate-conditions.ts';
import {
  generateAllContainersRestartingCondition,
  generatePodReadyToStartContainersCondition,
  type RuntimeContainer,
} from '../../../src/status-manager/status/generate-runtime-conditions.ts';
import type { Pod, PodStatus } from '../../../src/kube/objects/types.ts';
import { hasSharedTraces, readSharedTrace, whereSharedTraces } from '../../support/shared-traces.ts';

interface Step {
  readonly op: string;
  readonly pod: Pod;
  readonly oldStatus?: PodStatus;
  readonly status?: PodStatus;
  readonly sandboxes?: readonly { ready?: boolean; hostNetwork?: boolean; noNetwork?: boolean; ip?: string }[];
  readonly runtime?: readonly { name: string; exited?: boolean; exitCode?: number }[];
  readonly expect: { readonly returns?: unknown };
}

const generators: Record<string, (step: Step) => unknown> = {
  'generate.containersReady': ({ pod, oldStatus, status }) =>
    generateContainersReadyCondition(pod, oldStatus, allStatuses(status), status?.phase),
  'generate.podReady': ({ pod, oldStatus, status }) =>
    generatePodReadyCondition(pod, oldStatus, status?.conditions, allStatuses(status), status?.phase),
  'generate.podInitialized': ({ pod, oldStatus, status }) =>
    generatePodInitializedCondition(pod, oldStatus, allStatuses(status), status?.phase),
  'generate.podReadyToStartContainers': ({ pod, oldStatus, sandboxes = [] }) =>
    generatePodReadyToStartContainersCondition(
      pod,
      oldStatus,
      sandboxes.map(({ ready = false, hostNetwork, noNetwork, ip }) => ({
        ready,
        hostNetwork,
        network: noNetwork ? undefined : { ip },
      })),
    ),
  'generate.allContainersRestarting': ({ pod, oldStatus, status, runtime = [] }) =>
    generateAllContainersRestartingCondition(
      pod,
      oldStatus,
      runtime.map(({ name, exited = false, exitCode }): RuntimeContainer => ({ name, exited, exitCode })),
      status?.phase,
    ),
  needToReconcilePodReadiness: ({ pod }) => needToReconcilePodReadiness(pod),
};

/** As the traces have it: init, then regular statuses, and no list at all when there are none. */
function allStatuses(status: PodStatus | undefined) {
  const statuses = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  return statuses.length > 0 ? statuses : undefined;
}

describe.skipIf(!hasSharedTraces)(`the recorded traces of the kubelet${whereSharedTraces}`, () => {
  const steps = hasSharedTraces
    ? ['random.jsonl.gz', 'long.jsonl.gz'].flatMap((file) =>
        readSharedTrace<{ steps: Step[] }>(file).flatMap((trace) => trace.steps),
      )
    : [];

  it.each(Object.entries(generators))('agree with each step of %s', (op, generate) => {
    const ofOp = steps.filter((step) => step.op === op);
    expect(ofOp.length).toBeGreaterThan(0);
    const results = ofOp.map((step) => ({ step, returns: generate(step) }));
    expect(results).toStrictEqual(ofOp.map((step) => ({ step, returns: step.expect.returns })));
  });
});
