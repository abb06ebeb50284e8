import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Pod } from 'kubelet-status-manager';
import { APIServer } from 'kubelet-status-manager/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { getPodCondition } from '../../src/status-manager/status/conditions.ts';
import { agentIsBuilt } from './node-agent/run-agent.ts';

const program = fileURLToPath(new URL('../../examples/provider/provider.mjs', import.meta.url));
const spec = { nodeName: 'node-a', containers: [{ name: 'app', image: 'app:1' }] };

function run(kubeconfig: string) {
  const child = spawn(process.execPath, [program], { env: { ...process.env, KUBECONFIG: kubeconfig }, stdio: 'pipe' });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => void (output += String(data)));
  const exitCode = once(child, 'close').then(([code]) => code as number | null);
  return { child, exitCode, output: () => output };
}

/** The program, and the API server that it talks to. */
async function startProvider(folder: string, prepare = (_server: APIServer): void => {}) {
  const server = await APIServer.start({ nodeUsers: ['node-a'] });
  server.nodes.create('node-a');
  prepare(server);
  const seen: Pod[] = [];
  server.pods.subscribe(({ pod }) => void seen.push(pod));
  const file = join(folder, 'kubeconfig');
  writeFileSync(file, server.kubeconfigYaml('node-a'));
  const { child, exitCode, output } = run(file);
  return {
    server,
    seen,
    output,
    statusOf: (name: string) => server.pods.get('default', name)?.status,
    async stop() {
      child.kill('SIGTERM');
      const code = await exitCode;
      await server.close();
      return code;
    },
  };
}

describe.skipIf(!agentIsBuilt)('examples/provider (skipped before `npm run build`)', () => {
  let folder: string;
  beforeAll(() => void (folder = mkdtempSync(join(tmpdir(), 'provider-'))));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('reports what runs, what ends and what is deleted, and ends with 0', async () => {
    const provider = await startProvider(folder);
    const { server, statusOf, seen } = provider;
    server.pods.create({ metadata: { name: 'web' }, spec });
    server.pods.create({ metadata: { name: 'job' }, spec: { ...spec, restartPolicy: 'Never' } });
    await expect.poll(() => statusOf('web')?.phase, { message: provider.output() }).toBe('Running');
    expect(getPodCondition(statusOf('web')?.conditions, 'PodReadyToStartContainers')?.status).toBe('True');
    await expect.poll(() => statusOf('job')?.phase).toBe('Succeeded');
    expect(statusOf('job')?.containerStatuses?.[0]?.state?.terminated).toMatchObject({ exitCode: 0 });

    server.pods.delete('default', 'web');
    await expect.poll(() => server.pods.get('default', 'web')).toBeUndefined();
    const last = seen.findLast(({ metadata }) => metadata?.name === 'web');
    expect(last?.status?.phase).toBe('Succeeded');
    expect(last?.status?.containerStatuses?.[0]?.state?.terminated?.reason).toBe('Completed');
    expect(await provider.stop()).toBe(0);
  });

  it('does not start a pod that had ended, and deletes one whose deletion had been requested', async () => {
    const provider = await startProvider(folder, ({ pods }) => {
      for (const name of ['ended', 'deleted']) pods.create({ metadata: { name }, spec });
      pods.patchStatus('default', 'ended', { status: { phase: 'Failed' } });
      pods.delete('default', 'deleted');
    });
    provider.server.pods.create({ metadata: { name: 'web' }, spec });
    await expect.poll(() => provider.statusOf('web')?.phase).toBe('Running');
    await expect.poll(() => provider.server.pods.get('default', 'deleted')).toBeUndefined();
    expect(provider.statusOf('ended')?.phase).toBe('Failed');
    expect(await provider.stop()).toBe(0);
  });

  it('says that KUBECONFIG is to be set, in place of a stack', async () => {
    const { exitCode, output } = run(join(folder, 'none'));
    expect(await exitCode).toBe(1);
    expect(output()).toMatch(/^Set KUBECONFIG to the kubeconfig of a cluster: ENOENT: .*\n$/);
  });

  it('ends with 0 when it is stopped before the API server has responded', async () => {
    const kubeconfig = join(folder, 'refused');
    const cluster = { server: 'http://127.0.0.1:1' };
    const context = { cluster: 'a', user: 'a' };
    writeFileSync(
      kubeconfig,
      JSON.stringify({
        ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'a' },
        ...{ clusters: [{ name: 'a', cluster }], users: [{ name: 'a', user: {} }], contexts: [{ name: 'a', context }] },
      }),
    );
    const { child, exitCode, output } = run(kubeconfig);
    await expect.poll(output).toContain('ECONNREFUSED');
    child.kill('SIGTERM');
    expect(await exitCode).toBe(0);
  });
});
