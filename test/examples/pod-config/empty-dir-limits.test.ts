import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Pod } from 'kubelet-status-manager';
import { FakeClock, silentLogger } from 'kubelet-status-manager/testing';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { EmptyDirLimits } from '../../../examples/node-agent/pod-config/empty-dir-limits.ts';
import { NodeDirectory } from '../../../examples/node-agent/process-runtime/node-directory.ts';

let path: string;
let directory: NodeDirectory;
let evicted: string[];
let phase: string;
beforeEach(() => {
  path = mkdtempSync(join(tmpdir(), 'limits-'));
  directory = new NodeDirectory(path);
  evicted = [];
  phase = 'Running';
  mkdirSync(join(directory.volume('uid-1', 'v'), 'sub'), { recursive: true });
});
afterEach(() => rmSync(path, { recursive: true }));

function limits(emptyDir: object): EmptyDirLimits {
  const pod: Pod = { metadata: { uid: 'uid-1' }, spec: { volumes: [{ name: 'v', emptyDir }, { name: 'w' }] } };
  const agent = {
    getPods: () => [pod],
    evict: async (_: Pod, { message }: { readonly message: string }) => evicted.push(message) > 0,
    statusManager: { getPodStatus: () => ({ phase }) },
  };
  const surroundings = { directory, clock: new FakeClock(), logger: silentLogger, periodMs: 1000 };
  return new EmptyDirLimits({ ...surroundings, agent: agent as never });
}

it.each([
  ['1Ki', 1024, 0],
  ['1Ki', 1025, 1],
  [1000, 1001, 1],
  [undefined, 5000, 0],
])('with sizeLimit %s and %d bytes', async (sizeLimit, bytes, evictions) => {
  writeFileSync(join(directory.volume('uid-1', 'v'), 'sub', 'file'), Buffer.alloc(bytes - 1));
  writeFileSync(join(directory.volume('uid-1', 'v'), 'one'), 'x');
  const checked = limits({ sizeLimit });
  await checked.check();
  await checked.check();
  expect(evicted).toHaveLength(evictions);
  if (evictions > 0) expect(evicted).toEqual([`Usage of EmptyDir volume "v" exceeds the limit "${sizeLimit}". `]);
});

it('the target of a symbolic link does not count towards the volume', async () => {
  writeFileSync(join(path, 'big'), Buffer.alloc(100_000));
  symlinkSync(join(path, 'big'), join(directory.volume('uid-1', 'v'), 'link'));
  await limits({ sizeLimit: '1Ki' }).check();
  expect(evicted).toEqual([]);
});

it('a pod that has ended is not evicted', async () => {
  writeFileSync(join(directory.volume('uid-1', 'v'), 'file'), Buffer.alloc(2000));
  phase = 'Succeeded';
  await limits({ sizeLimit: '1Ki' }).check();
  expect(evicted).toEqual([]);
});
