import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createCRIRuntime, type CRIRuntimeOptions } from '../../src/cri/create-cri-runtime.ts';
import type { RuntimeHelper } from '../../src/agent/runtime-helper/runtime-helper.ts';

const helper: RuntimeHelper = {
  generateRunContainerOptions: async () => ({ command: [], args: [], envs: [], mounts: [] }),
  getPodDNS: async () => ({ servers: [], searches: [], options: [] }),
  generatePodHostName: () => '',
  lookupRuntimeHandler: async () => '',
  pullCredentials: async () => [],
};
const endpoint = `unix://${join(tmpdir(), 'no-such-runtime.sock')}`;

describe('createCRIRuntime', () => {
  it.each<[string, Partial<CRIRuntimeOptions>]>([
    ['endpoint', { endpoint: '/run/containerd/containerd.sock' }],
    ['helper', { helper: {} as RuntimeHelper }],
    ['rootDirectory', { rootDirectory: 'kubelet' }],
    ['podLogsDirectory', { podLogsDirectory: 'logs' }],
    ['containerLogMaxSizeBytes', { containerLogMaxSizeBytes: 0 }],
    ['containerLogMaxFiles', { containerLogMaxFiles: 1 }],
    ['cgroupRoot', { cgroupRoot: 'kubepods' }],
    ['podPidsLimit', { cgroupRoot: '/kubepods', podPidsLimit: 0 }],
    ['podPidsLimit', { podPidsLimit: 100 }],
  ])('refuses an invalid `%s`', async (name, options) => {
    const error = { code: 'INVALID_OPTION', message: expect.stringContaining(`\`${name}\``) as string };
    await expect(createCRIRuntime({ endpoint, helper, ...options })).rejects.toMatchObject(error);
  });

  it('says which runtime does not respond', async () => {
    await expect(createCRIRuntime({ endpoint, helper })).rejects.toThrow(
      `The container runtime at ${endpoint} does not`,
    );
  });
});
