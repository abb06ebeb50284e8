import { expect, it } from 'vitest';
import { FakeClock } from 'kubelet-status-manager/testing';
import { CRIRuntime, type CRIRuntimeSettings } from '../../src/cri/cri-runtime.ts';
import { machine } from './pods.ts';

it('a resize tells the runtime of no limit that is not set, as the kubelet does: CRI-O refuses negative ones', async () => {
  const requests: object[] = [];
  const runtime = new CRIRuntime({
    runtimeName: 'cri-o',
    podLogsDirectory: '/logs',
    containerLogMaxSizeBytes: Infinity,
    client: { call: async (_method: string, request: object) => requests.push(request) },
    machine,
    clock: new FakeClock(),
  } as object as CRIRuntimeSettings);
  await runtime.updateContainerResources('cri-o://c', { requests: { cpu: '500m' } });
  await runtime.updateContainerResources('cri-o://c', { limits: { cpu: '1', memory: '64Mi' } });
  expect(requests).toMatchObject([
    { container_id: 'c', linux: { cpu_shares: 512, cpu_quota: 0, memory_limit_in_bytes: 0 } },
    { container_id: 'c', linux: { cpu_shares: 1024, cpu_quota: 100_000, memory_limit_in_bytes: 64 * 2 ** 20 } },
  ]);
});
