import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { ContainerStatus, Pod, PodStatus } from 'kubelet-status-manager';
import { APIServer } from 'kubelet-status-manager/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { agentIsBuilt, livingGroups, mainFile, RunningAgent } from './node-agent/run-agent.ts';

describe.skipIf(!agentIsBuilt)(`node agent${agentIsBuilt ? '' : ' (skipped: run `npm run build` first)'}`, () => {
  let directory: string;
  let home: string;
  let server: APIServer;
  let args: readonly string[];
  beforeEach(async () => {
    directory = mkdtempSync(join(tmpdir(), 'na-restart-'));
    home = join(directory, 'h');
    mkdirSync(home);
    server = await APIServer.start();
    const kubeconfig = join(directory, 'kubeconfig');
    writeFileSync(kubeconfig, JSON.stringify(server.kubeconfig()), { mode: 0o600 });
    args = ['--kubeconfig', kubeconfig, '--node-name', 'n1'];
  });
  afterEach(async () => {
    await server.close();
    rmSync(directory, { recursive: true, force: true, maxRetries: 3 });
  });

  const pod = (name: string): Pod | undefined => server.pods.list().find(({ metadata }) => metadata?.name === name);
  const status = (name: string): PodStatus | undefined => pod(name)?.status as PodStatus | undefined;
  const container = (name: string): ContainerStatus | undefined => status(name)?.containerStatuses?.[0];

  function writeManifest(folder: string, name: string, script: string, spec: object = {}): string {
    mkdirSync(join(directory, folder), { recursive: true });
    const file = join(directory, folder, `${name}.yaml`);
    const containers = [{ name: 'c', image: 'process', command: ['sh', '-c', script] }];
    const text = { apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec: { containers, ...spec } };
    writeFileSync(file, JSON.stringify(text));
    return file;
  }

  it('the agent after one that was killed adopts its containers, and reports how they have ended', async () => {
    const runs = join(directory, 'runs');
    const go = join(directory, 'go');
    const manifests = [
      writeManifest('pods', 'server', `echo server >>${runs}; echo hello; exec sleep 3600`),
      writeManifest('pods', 'job', `echo job >>${runs}; while [ ! -e ${go} ]; do sleep 0.1; done; exit 42`, {
        restartPolicy: 'Never',
      }),
    ];
    await using first = new RunningAgent([...args, '--manifests', ...manifests], {}, home);
    await first.waitForRunning('default/server');
    await first.waitForRunning('default/job');
    const logs = async (...more: string[]) =>
      promisify(execFile)(process.execPath, [mainFile, 'logs', ...more, '--node-name', 'n1'], { env: { HOME: home } });
    expect(await logs('server')).toEqual({ stdout: 'hello\n', stderr: '' });
    await expect(logs('nobody')).rejects.toMatchObject({ code: 3, stderr: expect.stringContaining('there is no log') });
    const before = container('server');
    const pids = first.pids();
    expect(livingGroups(pids)).toHaveLength(2);

    first.signal('SIGKILL');
    await first.exitCode();
    expect(livingGroups(pids)).toHaveLength(2);
    writeFileSync(go, '');
    await expect.poll(() => livingGroups(pids)).toHaveLength(1);

    await using second = new RunningAgent(args, {}, home);
    await expect.poll(() => status('job')?.phase, { timeout: 15_000 }).toBe('Failed');
    expect(container('job')?.state.terminated).toMatchObject({ exitCode: 42, reason: 'Error' });
    expect(status('server')?.phase).toBe('Running');
    expect(container('server')).toEqual(before);
    expect(livingGroups(pids)).toHaveLength(1);
    expect(readFileSync(runs, 'utf8').trimEnd().split('\n').toSorted()).toEqual(['job', 'server']);

    second.signal('SIGINT');
    expect(await second.exitCode()).toBe(0);
    expect(livingGroups(pids)).toEqual([]);
    expect(container('server')?.state.terminated).toMatchObject({ exitCode: 143 });
    expect(second.leftovers()).toEqual([]);
  });

  it('containers that are left running are adopted by the next agent', async () => {
    const manifest = writeManifest('pods', 'server', 'exec sleep 3600');
    await using first = new RunningAgent([...args, '--leave-running', '--manifests', manifest], {}, home);
    await first.waitForRunning('default/server');
    const before = container('server');
    const pids = first.pids();
    first.signal('SIGINT');
    expect(await first.exitCode()).toBe(0);
    expect(livingGroups(pids)).toHaveLength(1);

    await using second = new RunningAgent(args, {}, home);
    await second.waitFor(({ event }) => event === 'started');
    server.pods.delete('default', 'server', { gracePeriodSeconds: 5 });
    await expect.poll(() => pod('server'), { timeout: 15_000 }).toBeUndefined();
    expect(before?.restartCount).toBe(0);
    expect(livingGroups(pids)).toEqual([]);
  });

  it('the directory of a running agent is refused', async () => {
    await using first = new RunningAgent(args, {}, home);
    await first.waitFor(({ event }) => event === 'started');
    await using second = new RunningAgent(args, {}, home);
    expect(await second.exitCode()).toBe(3);
    expect(second.stderr).toMatch(/--root-dir .*n1: .*is in use by process \d+/);
    expect(existsSync(join(home, '.node-agent', 'n1', 'pods'))).toBe(true);
  });

  it('static pods and their mirror pods follow the manifests', async () => {
    const file = writeManifest('static', 'web', 'exec sleep 1111', { terminationGracePeriodSeconds: 1 });
    await using agent = new RunningAgent([...args, '--pod-manifest-path', join(directory, 'static')], {}, home);
    await expect.poll(() => status('web-n1')?.phase, { timeout: 15_000 }).toBe('Running');
    const before = container('web-n1')?.containerID;
    expect(before).toBeTruthy();

    writeManifest('static', 'web', 'exec sleep 2222', { terminationGracePeriodSeconds: 1 });
    await expect
      .poll(() => [status('web-n1')?.phase, container('web-n1')?.containerID === before], { timeout: 20_000 })
      .toEqual(['Running', false]);
    server.pods.delete('default', 'web-n1', { gracePeriodSeconds: 0 });
    await expect.poll(() => status('web-n1')?.phase, { timeout: 20_000 }).toBe('Running');

    rmSync(file);
    await expect.poll(() => pod('web-n1'), { timeout: 20_000 }).toBeUndefined();
    await expect.poll(() => livingGroups(agent.pids()), { timeout: 20_000 }).toEqual([]);
  });
});
