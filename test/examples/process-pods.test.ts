import { execFileSync, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import type { Container, PodSpec } from 'kubelet-status-manager';
import { APIServer, checkPodProvider } from 'kubelet-status-manager/testing';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { ProviderPodReference } from 'kubelet-status-manager/virtual-nodes';
import { ProcessProvider } from '../../examples/process-pods/process-provider.ts';
import { agentIsBuilt } from './node-agent/run-agent.ts';

const program = fileURLToPath(new URL('../../dist/examples/process-pods/main.js', import.meta.url));
const running = (script: string): Container => ({ name: 'app', image: 'none', command: ['sh', '-c', script] });

describe('examples/process-pods', () => {
  it('its provider keeps every rule', async () => {
    const provider = new ProcessProvider();
    onTestFinished(() => provider.close());
    const results = await checkPodProvider(provider, {
      running: running('exec sleep 3600'),
      completed: running('exit 0'),
      failed: { container: running('exit 3'), exitCode: 3 },
      refused: { name: 'app', image: 'none' },
      stubborn: running("trap '' TERM; while :; do sleep 0.1; done"),
      exec: { command: ['sh', '-c', 'echo out; exit 3'], exitCode: 3, stdout: 'out\n' },
    });
    expect(results.filter(({ passed }) => !passed)).toEqual([]);
    expect(results.map(({ rule }) => rule)).toContain('restart-reported');
  });

  describe('a pod', () => {
    const metadata: ProviderPodReference = { uid: 'uid-1', namespace: 'default', name: 'web', nodeName: 'processes' };
    const io = () => ({ stdout: new PassThrough(), stderr: new PassThrough(), tty: false, onResize: () => {} });
    let provider: ProcessProvider;
    beforeEach(() => {
      provider = new ProcessProvider();
    });
    afterEach(() => provider.close());

    const create = (commands: readonly string[][], spec: Partial<PodSpec> = {}, uid = 'uid-1') =>
      provider.createPod({ metadata: { ...metadata, uid }, spec: { containers: [], ...spec } }, {
        ...{ restartCount: 0, podHash: '', signal: new AbortController().signal },
        materials: async () => ({
          containers: new Map(commands.map((command, i) => [`c${i}`, { command, args: [], env: [] }])),
        }),
      } as never);
    const options = { signal: new AbortController().signal } as never;

    it('cannot see the environment of the agent, also not in a command', async () => {
      vi.stubEnv('AGENT_TOKEN', 'secret');
      onTestFinished(() => void vi.unstubAllEnvs());
      await create([['sleep', '3600']]);
      const streams = io();
      expect(await provider.exec(metadata, 'c0', ['env'], streams, options)).toBe(0);
      streams.stdout.end();
      expect(await text(streams.stdout)).not.toContain('AGENT_TOKEN');
    });

    it('leaves no process behind when it ends, or cannot be started', async () => {
      const marker = `process-pods-${randomUUID()}`;
      const commandLines = () => execFileSync('ps', ['-A', '-o', 'args='], { encoding: 'utf8' });
      const command = ['sh', '-c', `sh -c 'sleep 3600; : ${marker}' & wait`];
      await create([command]);
      await expect.poll(commandLines).toMatch(new RegExp(`^sh -c sleep 3600; : ${marker}`, 'm'));
      await provider.deletePod(metadata, { gracePeriodSeconds: 1 } as never);
      await expect.poll(commandLines).not.toContain(marker);
      await expect(create([command, ['sh', '\0']], {}, 'uid-2')).rejects.toThrow('container c1 cannot be started');
      await expect.poll(commandLines).not.toContain(marker);
    });

    it('that asks for isolation is refused', async () => {
      const securityContext = { runAsUser: 1000 };
      await expect(create([['true']], { securityContext })).rejects.toThrow('securityContext');
    });
  });

  it.skipIf(!agentIsBuilt)(
    '(skipped before `npm run build`) runs pods again that end, or whose probe fails',
    async () => {
      const server = await APIServer.start();
      const folder = mkdtempSync(join(tmpdir(), 'process-pods-'));
      onTestFinished(async () => {
        await server.close();
        rmSync(folder, { recursive: true, force: true });
      });
      const kubeconfig = join(folder, 'kubeconfig');
      writeFileSync(kubeconfig, server.kubeconfigYaml());
      const child = spawn(process.execPath, [program], {
        env: { ...process.env, KUBECONFIG: kubeconfig },
        stdio: 'pipe',
      });
      let output = '';
      for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => void (output += String(data)));
      const ended = once(child, 'close');
      const create = (name: string, container: Container, spec: Partial<PodSpec> = {}): void =>
        void server.pods.create({
          metadata: { name },
          spec: { nodeName: 'processes', containers: [container], ...spec },
        });
      const statusOf = (name: string) => server.pods.get('default', name)?.status;
      const probe = { exec: { command: ['false'] }, periodSeconds: 1, failureThreshold: 1 };

      create('flaky', running('exit 1'));
      create('dead', { ...running('exec sleep 3600'), livenessProbe: probe }, { terminationGracePeriodSeconds: 1 });
      create('job', running('exit 0'), { restartPolicy: 'OnFailure' });
      const terminated = (exitCode: number) => ({ lastState: { terminated: { exitCode } } });
      const crashLoop = { restartCount: 1, state: { waiting: { reason: 'CrashLoopBackOff' } } };
      await expect
        .poll(() => statusOf('flaky'), { message: output })
        .toMatchObject({ phase: 'Running', containerStatuses: [{ ...crashLoop, ...terminated(1) }] });
      await expect.poll(() => statusOf('job')?.phase).toBe('Succeeded');
      await expect
        .poll(() => statusOf('dead'))
        .toMatchObject({ phase: 'Running', containerStatuses: [{ ...crashLoop, ...terminated(143) }] });

      server.pods.delete('default', 'flaky');
      await expect.poll(() => server.pods.get('default', 'flaky'), { message: output }).toBeUndefined();
      child.kill('SIGTERM');
      expect([...(await ended), output]).toEqual([0, null, expect.any(String)]);
    },
  );
});
