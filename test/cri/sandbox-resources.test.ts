import { describe, expect, it } from 'vitest';
import { CRIError } from '../../src/cri/cri-error.ts';
import {
  generatePodSandboxConfig,
  updatePodSandboxResources,
  updateSandboxResourcesRequest,
} from '../../src/cri/sandbox-config.ts';
import { hostUsers, podWith } from './pods.ts';

const config = { cpuShares: 1024, cpuQuota: 50_000, memory: 64 * 2 ** 20 };

describe('updatePodSandboxResources', () => {
  const request = { pod_sandbox_id: 'id' };
  const update = (code: number, details: string): Promise<void> => {
    const error = new CRIError(Object.assign(new Error(details), { code, details, metadata: {} as never }));
    return updatePodSandboxResources({ call: () => Promise.reject(error) }, request, {});
  };

  it.each([
    [12, 'unknown method'],
    [2, 'method UpdatePodSandboxResources not implemented yet'],
  ])('ignores that a runtime does not implement it: code %i', async (code, details) => {
    await expect(update(code, details)).resolves.toBeUndefined();
  });

  it.each([
    [2, 'Unknown', 'no memory'],
    [13, 'Internal', 'not implemented'],
  ])('rejects with the error of a runtime that refuses: code %i', async (code, name, details) => {
    await expect(update(code, details)).rejects.toThrow(
      `updatePodSandboxResources failed for sanboxID "id": rpc error: code = ${name} desc = ${details}`,
    );
  });
});

describe('updateSandboxResourcesRequest', () => {
  it('has the limits of the pod', () => {
    expect(updateSandboxResourcesRequest(podWith(), 'id', config)).toEqual({
      pod_sandbox_id: 'id',
      resources: { cpu_shares: 1024, cpu_period: 100_000, cpu_quota: 50_000, memory_limit_in_bytes: 64 * 2 ** 20 },
    });
    const unlimited = updateSandboxResourcesRequest(podWith(), 'id', { cpuShares: 2, cpuQuota: -1 });
    expect(unlimited.resources).toEqual({ cpu_shares: 2, cpu_period: 100_000, cpu_quota: -1 });
  });

  it('has the overhead beside what is left for the containers, as the sandbox was created with it', () => {
    const pod = podWith({ overhead: { cpu: '250m', memory: '16Mi' } });
    const request = updateSandboxResourcesRequest(pod, 'id', config);
    const overhead = { cpu_shares: 256, cpu_period: 100_000, cpu_quota: 25_000, memory_limit_in_bytes: 16 * 2 ** 20 };
    expect(request.overhead).toEqual(overhead);
    expect(request.resources).toEqual({
      ...{ cpu_shares: 768, cpu_period: 100_000, cpu_quota: 25_000, memory_limit_in_bytes: 48 * 2 ** 20 },
    });
    const settings = {
      attempt: 0,
      dns: {},
      hostname: '',
      podLogsDirectory: '/logs',
      userNamespace: hostUsers,
      cgroupParent: '',
    };
    expect(generatePodSandboxConfig(pod, settings).linux?.overhead).toEqual(overhead);
  });
});
