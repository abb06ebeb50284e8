import { readFileSync, statSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { agentIsBuilt, livingGroups, RunningAgent } from './node-agent/run-agent.ts';
import { TerminalAgent } from './node-agent/terminal-agent.ts';

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'node-agent-manifests-'));
});
afterAll(() => rm(directory, { recursive: true, force: true }));

async function writeManifest(name: string, spec: object): Promise<string> {
  const file = join(directory, `${name}.yaml`);
  await writeFile(file, JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec }));
  return file;
}

/** A killed process disappears a moment later. */
async function expectNoProcessLeft(agent: RunningAgent): Promise<void> {
  await expect.poll(() => livingGroups(agent.pids()), { timeout: 5_000 }).toEqual([]);
}

describe.skipIf(!agentIsBuilt)(`node agent${agentIsBuilt ? '' : ' (skipped: run `npm run build` first)'}`, () => {
  it('serves its health, its metrics and the status page on a loopback address', async () => {
    await using agent = new RunningAgent(['--for', '10s']);
    const { url } = await agent.waitFor(({ event }) => event === 'started');
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    await agent.waitFor(({ event }) => event === 'status');
    const get = async (path: string) => (await fetch(`${url}${path}`)).text();
    expect(await get('/healthz')).toBe('ok');
    expect(await get('/readyz')).toBe('ok');
    expect(await get('/metrics')).toMatch(/^kubelet_status_manager_cached_statuses [1-9]/m);
    expect(await get('/statusz/')).toMatch('<title>Pod statuses</title>');
    expect(JSON.parse(await get('/statusz/pods.json'))).toMatchObject({ state: 'running' });
  });

  it('brings each demo pod to its expected end state and leaves nothing behind', async () => {
    await using agent = new RunningAgent(['--for', '30s'], { AGENT_SECRET: 'hush' });
    const { kubeconfig } = await agent.waitFor(({ event }) => event === 'started');
    expect(statSync(kubeconfig!).mode & 0o777).toBe(0o600);
    expect(statSync(join(kubeconfig!, '..')).mode & 0o777).toBe(0o700);
    const token = /token: (\S+)/.exec(readFileSync(kubeconfig!, 'utf8'))?.[1];
    expect(token).toBeTruthy();

    expect(await agent.exitCode()).toBe(0);
    const endStates = agent.events.filter(({ event }) => event === 'endState');
    expect(endStates.map(({ pod, expected, isExpected }) => ({ pod, expected, isExpected }))).toEqual([
      { pod: 'default/becomes-ready', expected: 'Running', isExpected: true },
      { pod: 'default/becomes-unhealthy', expected: 'Restarted', isExpected: true },
      { pod: 'default/completes', expected: 'Succeeded', isExpected: true },
      { pod: 'default/crashes', expected: 'Restarted', isExpected: true },
      { pod: 'default/evicted', expected: 'Failed', isExpected: true },
      { pod: 'default/init-container', expected: 'Running', isExpected: true },
      { pod: 'default/job-with-backoff', expected: 'Succeeded', isExpected: true },
      { pod: 'default/keeps-running', expected: 'Running', isExpected: true },
      { pod: 'default/resized', expected: 'Resized', isExpected: true },
      { pod: expect.stringMatching(/^default\/static-node-agent/), expected: 'Running', isExpected: true },
      { pod: 'default/takes-turns-a', expected: 'Alternating', isExpected: true },
      { pod: 'default/takes-turns-b', expected: 'Alternating', isExpected: true },
      { pod: 'default/takes-turns-c', expected: 'Alternating', isExpected: true },
      { pod: 'default/deleted', expected: 'Deleted', isExpected: true },
    ]);

    const statuses = agent.events.filter(({ event }) => event === 'status');
    expect(statuses.some(({ pod, reason }) => pod === 'default/crashes' && reason === 'CrashLoopBackOff')).toBe(true);
    const evicted = statuses.findLast(({ pod, phase }) => pod === 'default/evicted' && phase === 'Failed');
    expect(evicted).toMatchObject({ reason: 'Evicted' });
    const states = statuses
      .filter(({ pod }) => pod === 'default/init-container')
      .map(({ containers }) => new Map(containers!.map(({ name, state }) => [name, state])));
    for (const state of states.filter((one) => one.get('main')!.running)) {
      expect(state.get('prepare')).toMatchObject({ terminated: { exitCode: 0 } });
    }
    expect(agent.events.filter(({ event }) => event === 'deleted').map(({ pod }) => pod)).toEqual(['default/deleted']);

    expect(agent.pids().length).toBeGreaterThanOrEqual(6);
    await expectNoProcessLeft(agent);
    expect(agent.leftovers()).toEqual([]);
    expect(agent.stdout + agent.stderr).not.toContain(token);
  });

  it('stops its API server on request, and suggests the command without a build', async () => {
    await using agent = new RunningAgent(['--outage-after', '5s', '--outage-for', '5s']);
    await agent.waitFor(({ event, state }) => event === 'apiServer' && state === 'up');
    const outage = agent.events.filter(({ event }) => event === 'apiServer');
    expect(outage.map(({ state }) => state)).toEqual(['down', 'up']);
    const recovered = await agent.waitFor(({ event }) => event === 'recovered');
    expect(recovered).toMatchObject({ caughtUpMs: expect.any(Number), pods: expect.any(Number), lost: [] });
    // Something changes every two seconds.
    expect(recovered.statuses).toBeGreaterThanOrEqual(2);
    expect(agent.stderr).toMatch(/^ {2}node \S*dist\/examples\/node-agent\/main\.js logs POD$/m);
    expect(agent.stderr).toMatch(/ECONN(REFUSED|RESET)/);
  });

  it.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)('stops cleanly on %s while it runs', async (signal) => {
    await using agent = new RunningAgent([]);
    await agent.waitForRunning('default/init-container');
    agent.signal(signal);
    expect(await agent.exitCode()).toBe(0);
    const last = agent.events.findLast(({ pod, event }) => pod === 'default/init-container' && event === 'status');
    expect(last).toMatchObject({ phase: 'Failed', reason: 'Terminated' });
    await expectNoProcessLeft(agent);
    expect(agent.leftovers()).toEqual([]);
  });

  it('shows unsent statuses on a terminal, and stops cleanly on the key q', async () => {
    await using agent = new TerminalAgent(['--outage-after', '6s', '--outage-for', '60s']);
    // A request that was in flight when the outage began has another reason.
    const down = await agent.waitForFrame((lines) =>
      /(version \d+ has|changes have) been unsent for .* ECONNREFUSED/.test(lines.join(' ')),
    );
    expect(down[0]).toMatch(/^POD +READY +STATUS +RESTARTS +CACHED +SENT +UNSENT$/);
    expect(down.join(' ')).toMatch(/DOWN.* Unsent: [1-9]/);
    agent.press('q');
    expect(await agent.exitCode()).toBe(0);
    expect(agent.leftovers()).toEqual([]);
  });

  it('kills all processes on a second signal', async () => {
    const manifest = await writeManifest('stubborn', {
      containers: [
        { name: 'c', image: 'process', command: ['sh', '-c', "trap '' TERM; while true; do sleep 1; done"] },
      ],
    });
    await using agent = new RunningAgent(['--manifests', manifest]);
    await agent.waitForRunning('default/stubborn');
    agent.signal('SIGINT');
    await agent.waitFor(({ event }) => event === 'endState');
    agent.signal('SIGINT');
    expect(await agent.exitCode()).toBe(130);
    await expectNoProcessLeft(agent);
    expect(agent.leftovers()).toEqual([]);
  });

  it('counts a Ctrl-C once, although npm repeats its signal', async () => {
    await using agent = new RunningAgent([], { npm_lifecycle_event: 'start' });
    await agent.waitForRunning('default/keeps-running');
    agent.signal('SIGINT');
    agent.signal('SIGINT');
    expect(await agent.exitCode()).toBe(0);
  });

  it('leaves no child process of a container behind', async () => {
    const manifest = await writeManifest('parent', {
      restartPolicy: 'Never',
      terminationGracePeriodSeconds: 1,
      containers: [{ name: 'c', image: 'process', command: ['sh', '-c', 'sleep 3600 & exit 0'] }],
    });
    await using agent = new RunningAgent(['--manifests', manifest, '--for', '12s']);
    expect(await agent.exitCode()).toBe(0);
    expect(agent.pids()).toHaveLength(1);
    await expectNoProcessLeft(agent);
  });

  it('exits with 1, reports which pod is not in its expected end state and why, and keeps the logs', async () => {
    const manifest = await writeManifest('no-command', { containers: [{ name: 'c', image: 'process' }] });
    await using agent = new RunningAgent(['--manifests', manifest, '--for', '8s']);
    expect(await agent.exitCode()).toBe(1);
    expect(agent.stderr).toMatch(
      /WRONG +default\/no-command +expected Running, found .*CreateContainerConfigError, the container has no command/,
    );
    expect(agent.leftovers()).toContainEqual(expect.stringMatching(/\/pods$/));
    expect(() => readFileSync(agent.events[0]!.kubeconfig!)).toThrow('ENOENT');
  });

  it.each([
    { args: ['--node-name', 'Not_A_Name'], exitCode: 2, message: 'Expected lower-case letters' },
    { args: ['--for', 'ages'], exitCode: 2, message: 'Expected a time above zero such as 20s' },
    { args: ['--port', '70000'], exitCode: 2, message: 'Expected a number from 0 to 65535' },
    { args: ['--kubeconfig', 'does-not-exist'], exitCode: 3, message: '--kubeconfig does-not-exist: ENOENT' },
    { args: ['--manifests', 'does-not-exist'], exitCode: 3, message: '--manifests does-not-exist: ENOENT' },
    { args: ['--manifests', 'src'], exitCode: 3, message: 'node-agent: --manifests src: no YAML or JSON file' },
  ])('$args exits with $exitCode', async ({ args, exitCode, message }) => {
    await using agent = new RunningAgent(args);
    expect(await agent.exitCode()).toBe(exitCode);
    expect(agent.stderr).toContain(message);
    expect(agent.leftovers()).toEqual([]);
  });

  it.each([
    { story: 'an empty manifest', text: '# nothing yet\n', message: 'no pod in this file' },
    {
      story: 'a namespace that does not exist, with the command that creates it',
      text: '{ apiVersion: v1, kind: Pod, metadata: { name: a, namespace: missing }, spec: { containers: [] } }',
      message: 'kubectl create namespace missing',
    },
  ])('reports $story', async ({ text, message }) => {
    const file = join(directory, 'wrong.yaml');
    await writeFile(file, text);
    await using agent = new RunningAgent(['--manifests', file, '--for', '1s']);
    expect(await agent.exitCode()).toBe(3);
    expect(agent.stderr).toContain(message);
  });
});
