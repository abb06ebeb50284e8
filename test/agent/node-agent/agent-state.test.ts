import { readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openAgentState } from 'kubelet-status-manager/agent';
import { TestDirectories } from '../../support/directories.ts';
import { TestCluster } from './test-cluster.ts';

const directories = new TestDirectories();
let cluster: TestCluster;
let directory: string;
beforeEach(async () => {
  cluster = await TestCluster.start();
  directory = path.join(directories.create(), 'node-agent');
});
afterEach(async () => {
  await cluster[Symbol.asyncDispose]();
  directories.removeAll();
});

it('the state of an agent is in one directory, from which the next agent takes it', async () => {
  const state = await openAgentState(directory);
  await cluster.startAgent(state);
  const resources = { requests: { cpu: '100m' } };
  const uid = await cluster.create({
    ...{ metadata: { name: 'web' }, spec: { containers: [{ name: 'app', image: 'app:1', resources }] } },
  });
  await cluster.until(() => files().includes('image_manager/pulled'));
  await cluster.advance(3000);
  await expect(openAgentState(directory)).rejects.toMatchObject({ code: 'JOURNAL_UNUSABLE' });
  await cluster.stopAgent();

  expect(files()).toEqual(
    expect.arrayContaining([
      ...[
        'journal/pod-status.journal',
        'allocated_pods_state',
        'actuated/allocated_pods_state',
        'image_manager/pulled',
      ],
    ]),
  );
  const next = await openAgentState(directory);
  for (const stored of [next.allocationState!, next.actuatedState!])
    expect(stored.getContainerResourceAllocation(uid, 'app')?.requests).toEqual({ cpu: '100m' });
  await next.journal!.close();
});

it('a directory of which one part cannot be opened is free for the next try', async () => {
  await (await openAgentState(directory)).journal!.close();
  writeFileSync(path.join(directory, 'actuated', 'allocated_pods_state'), 'damaged');
  for (let i = 0; i < 2; i++)
    await expect(openAgentState(directory)).rejects.toMatchObject({ code: 'CORRUPT_CHECKPOINT' });
});

it('the log says at start what of the state is in memory only', async () => {
  const started = () => cluster.logger.lines.findLast(({ message }) => message === 'Starting node agent')?.fields;
  await cluster.startAgent();
  const all = ['actuatedState', 'allocationState', 'imagePullRecordsDirectory', 'journal'];
  expect(started()).toMatchObject({ stateInMemory: all });
  await cluster.stopAgent();
  await cluster.startAgent(await openAgentState(directory));
  expect(started()).toMatchObject({ stateInMemory: [] });
});

function files(): string[] {
  return readdirSync(directory, { recursive: true }).map(String);
}
