import { Server, ServerCredentials } from '@grpc/grpc-js';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { criEnums, criMessages } from '../../src/cri/cri-api.ts';
import { createCodecs } from '../../src/cri/message-codec.ts';
import { TestDirectories } from '../support/directories.ts';
import { createCRIRuntime, type CRIRuntimeOptions } from '../../src/cri/create-cri-runtime.ts';
import type { RuntimeHelper } from '../../src/node/container-options/runtime-helper.ts';

const helper: RuntimeHelper = {
  generateRunContainerOptions: async () => ({ command: [], args: [], envs: [], mounts: [] }),
  getPodDNS: async () => ({ servers: [], searches: [], options: [] }),
  generatePodHostName: () => '',
  lookupRuntimeHandler: async () => '',
  pullCredentials: async () => ({ credentials: [], missingSecrets: [] }),
};
const endpoint = `unix://${join(tmpdir(), 'no-such-runtime.sock')}`;

const directories = new TestDirectories();
const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.forceShutdown();
  directories.removeAll();
});

/** The endpoint of a containerd with this cgroup driver. */
async function serveContainerd(driver: keyof typeof criEnums.CgroupDriver): Promise<string> {
  const codecs = createCodecs(criMessages, criEnums);
  const method = (name: string, encode: (message: object) => Buffer) => ({
    path: `/runtime.v1.RuntimeService/${name}`,
    requestStream: false as const,
    responseStream: false as const,
    requestSerialize: (bytes: Buffer) => bytes,
    requestDeserialize: (bytes: Buffer) => bytes,
    responseSerialize: encode,
    responseDeserialize: (bytes: Buffer) => bytes,
  });
  const server = new Server();
  servers.push(server);
  server.addService(
    {
      Version: method('Version', codecs.VersionResponse.encode),
      RuntimeConfig: method('RuntimeConfig', codecs.RuntimeConfigResponse.encode),
    },
    {
      Version: (_call: unknown, respond: (error: null, response: object) => void) =>
        respond(null, { runtime_name: 'containerd' }),
      RuntimeConfig: (_call: unknown, respond: (error: null, response: object) => void) =>
        respond(null, { linux: { cgroup_driver: driver } }),
    },
  );
  const socket = `unix://${join(directories.create(), 'containerd.sock')}`;
  await new Promise<void>((resolve, reject) => {
    server.bindAsync(socket, ServerCredentials.createInsecure(), (error) => (error ? reject(error) : resolve()));
  });
  return socket;
}

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
    ['signal', { signal: {} as AbortSignal }],
  ])('refuses an invalid `%s`', async (name, options) => {
    const error = { code: 'INVALID_OPTION', message: expect.stringContaining(`\`${name}\``) as string };
    await expect(createCRIRuntime({ endpoint, helper, ...options })).rejects.toMatchObject(error);
  });

  it('says which runtime does not respond', async () => {
    await expect(createCRIRuntime({ endpoint, helper })).rejects.toThrow(
      `The container runtime at ${endpoint} does not`,
    );
  });

  it('refuses a containerd with the cgroup driver systemd and no `cgroupRoot`, and accepts one with cgroupfs', async () => {
    const systemd = await serveContainerd('SYSTEMD');
    await expect(createCRIRuntime({ endpoint: systemd, helper })).rejects.toThrow(
      /cgroup driver systemd .*set cgroupRoot/,
    );
    const runtime = await createCRIRuntime({ endpoint: await serveContainerd('CGROUPFS'), helper });
    runtime.close();
  });
});
