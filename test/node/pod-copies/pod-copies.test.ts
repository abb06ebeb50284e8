import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { APIServer } from 'kubelet-status-manager/testing';
import { afterEach, describe, expect, it } from 'vitest';

const compiled = fileURLToPath(new URL('../../../dist/test/node/pod-copies/node-process.js', import.meta.url));
const whyNot = existsSync(compiled) ? '' : ' (skipped: run `npm run build` first)';
const children: ChildProcess[] = [];
afterEach(() => children.splice(0).forEach((child) => child.kill('SIGKILL')));

describe.skipIf(whyNot !== '')(`A process keeps the spec of a pod once${whyNot}`, () => {
  it.each(['agent', 'virtual-node'])('%s', { timeout: 120_000 }, async (kind) => {
    await using server = await APIServer.start();
    const node = spawn(process.execPath, [compiled, kind, JSON.stringify(server.kubeconfig())], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    children.push(node);
    const lines = createInterface(node.stdout);
    const copies = async (workingDir: string): Promise<number> => {
      node.stdin.write(`${JSON.stringify(['workingDir', workingDir])}\n`);
      const [line] = (await once(lines, 'line')) as [string];
      return Number(line);
    };
    const run = async (name: string, workingDir: string): Promise<void> => {
      server.pods.create({
        metadata: { namespace: 'default', name },
        spec: { nodeName: 'node-a', containers: [{ name: 'app', image: 'app:1', workingDir }] },
      });
      const phase = () => server.pods.list().find(({ metadata }) => metadata?.name === name)?.status?.phase;
      await expect.poll(phase, { timeout: 20_000 }).toBe('Running');
    };
    await run('web', '/only-this-pod-has-it');
    // Its event replaces the last one of `web`, which the watch has until the next one comes.
    await run('other', '/another');
    await expect.poll(() => copies('/only-this-pod-has-it'), { timeout: 60_000 }).toBe(1);
  });
});
