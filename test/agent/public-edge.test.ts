import { describe, expect, it } from 'vitest';
import type { ValidPod } from 'kubelet-status-manager';
import { computePodActions } from '../../src/agent/actions/compute-pod-actions.ts';
import { generatePodStatus } from '../../src/node/status/generate-pod-status.ts';
import { noProbeResults } from '../../src/node/probes/probe-results.ts';
import type { RuntimePodStatus } from '../../src/node/runtime/runtime-pod-status.ts';

const pod: ValidPod = {
  metadata: { uid: 'uid', name: 'web', namespace: 'ns' },
  spec: { containers: [{ name: 'app' }] },
};
const container = { id: 'test://c', name: 'app', state: 'running', createdAtMs: 0 };
const sandbox = { id: 'sb', ready: true };
const empty = { sandboxes: [], containers: [] };

describe('the results of a runtime are validated before they are used', () => {
  it.each<[string, unknown, unknown]>([
    ['pod', null, empty],
    ['runtimeStatus', pod, undefined],
    ['runtimeStatus.sandboxes', pod, { containers: [] }],
    ['runtimeStatus.containers', pod, { sandboxes: [], containers: {} }],
    ['runtimeStatus.sandboxes[0]', pod, { ...empty, sandboxes: [null] }],
    ['runtimeStatus.sandboxes[1].id', pod, { ...empty, sandboxes: [sandbox, { ready: true }] }],
    ['runtimeStatus.sandboxes[0].ready', pod, { ...empty, sandboxes: [{ id: 'sb' }] }],
    ['runtimeStatus.containers[0]', pod, { ...empty, containers: ['c'] }],
    ['runtimeStatus.containers[0].id', pod, { ...empty, containers: [{ ...container, id: 1 }] }],
    ['runtimeStatus.containers[0].name', pod, { ...empty, containers: [{ ...container, name: undefined }] }],
    [
      'runtimeStatus.containers[1].state',
      pod,
      { ...empty, containers: [container, { ...container, state: 'RUNNING' }] },
    ],
    ['runtimeStatus.containers[0].createdAtMs', pod, { ...empty, containers: [{ ...container, createdAtMs: NaN }] }],
  ])('%s', (path, badPod, runtimeStatus) => {
    const refusal = expect.objectContaining({ code: 'INVALID_ARGUMENT', path });
    const status = runtimeStatus as RuntimePodStatus;
    expect(() => computePodActions(badPod as ValidPod, status, noProbeResults)).toThrow(refusal);
    expect(() => generatePodStatus(badPod as ValidPod, { runtimeStatus: status })).toThrow(refusal);
  });

  it('a field that an observation does not have replaces nothing that is generated', () => {
    const excess = { phase: 'Succeeded', podIPs: ['10.0.0.9'], ephemeralContainerStatuses: [{ name: 'c' }] };
    const runtimeStatus = { sandboxes: [], containers: [] };
    expect(generatePodStatus(pod, { runtimeStatus, ...excess })).toEqual(generatePodStatus(pod, { runtimeStatus }));
  });

  it('the message has the expected and the actual value', () => {
    const runtimeStatus = { ...empty, containers: [{ ...container, state: 'RUNNING' }] } as unknown as RuntimePodStatus;
    expect(() => generatePodStatus(pod, { runtimeStatus })).toThrow(
      'Expected `runtimeStatus.containers[0].state` to be created, running, exited or unknown, got `RUNNING`',
    );
  });
});
