import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { fault } from 'kubelet-status-manager/testing';
import { TestNodes } from './test-nodes.ts';

const label = 'kubelet-status-manager/virtual-node';
const watch = { verb: 'watch', resource: 'nodes' } as const;

let test: TestNodes;
beforeEach(async () => {
  test = await TestNodes.start();
});
afterEach(() => test[Symbol.asyncDispose]());

/** The reads of Nodes during the time: the path, and the query of a list or watch. */
async function readsDuring(ms: number): Promise<string[]> {
  const before = test.server.requests.length;
  await test.advance(ms);
  return test.server.requests
    .slice(before)
    .filter(({ method, path }) => method === 'GET' && /\/nodes\b/.test(path))
    .map(({ path }) => path.replace('?resourceVersion=0', '').replace(/(?<=watch)=.*/, ''));
}

const list = `/api/v1/nodes?labelSelector=${encodeURIComponent(`${label}=true`)}`;
const isReadOf = (path: string): boolean => path.startsWith('/api/v1/nodes/');

/** Two nodes, whose Nodes are watched. */
async function startTwo(): Promise<void> {
  await test.startNodes(['node-a', 'node-b']);
  await test.advance(20_000);
}

const drain = { spec: { unschedulable: true } };

describe('the Nodes of a process', () => {
  it('are read by one list and watch, and not one by one', async () => {
    await test.startNodes(['node-a', 'node-b', 'node-c']);
    const reads = await readsDuring(120_000);
    expect(reads.filter((path) => path.startsWith(`${list}&`))).toHaveLength(1);
    // The first heartbeat starts the watch.
    expect(reads.filter(isReadOf)).toHaveLength(3);
    expect(test.server.nodes.get('node-c')?.metadata?.labels).toMatchObject({ [label]: 'true' });
  });

  it('are not read one by one if they are registered while the others are watched', async () => {
    await startTwo();
    test.nodes.add(test.node('node-c'));
    await test.advance(1000);
    expect(await readsDuring(60_000)).toEqual([]);
  });

  it('are read one by one if there is one only, which the user of a node may do', async () => {
    await test.startNodes(['node-a']);
    expect(new Set(await readsDuring(60_000))).toEqual(new Set(['/api/v1/nodes/node-a']));
  });

  it('are read one by one without the permission to list them, and one warning says so', async () => {
    test.server.faults.next(
      { verb: 'list', resource: 'nodes', count: Infinity },
      fault.status(403, { message: 'nodes is forbidden' }),
    );
    await test.startNodes(['node-a', 'node-b']);
    const reads = await readsDuring(60_000);
    expect(reads.filter((path) => path === '/api/v1/nodes/node-b').length).toBeGreaterThanOrEqual(5);
    const warnings = test.logger.lines.filter(({ message }) => /list and watch Nodes/.test(message));
    expect(warnings).toMatchObject([{ level: 'warn', fields: { reason: expect.stringContaining('forbidden') } }]);
  });
});

describe('a watched Node', () => {
  it('that others change is seen immediately', async () => {
    await startTwo();
    test.server.nodes.patch('node-a', drain);
    await test.settle();
    expect(test.nodes.node('node-a')?.getNode()?.spec).toMatchObject({ unschedulable: true });
  });

  it('that is deleted is registered again at the next heartbeat', async () => {
    await startTwo();
    test.server.nodes.delete('node-b');
    await test.advance(11_000);
    expect(test.server.nodes.get('node-b')?.metadata?.labels).toMatchObject({ [label]: 'true' });
    expect(test.nodes.node('node-b')?.getNode()?.metadata.uid).toBe(test.server.nodes.get('node-b')?.metadata?.uid);
  });

  it('whose conditions others change gets its own back at the next heartbeat', async () => {
    await startTwo();
    test.server.nodes.patchStatus('node-a', { status: { conditions: [{ type: 'Ready', status: 'Unknown' }] } });
    await test.advance(11_000);
    expect(test.server.nodes.get('node-a')?.status).toMatchObject({
      conditions: expect.arrayContaining([expect.objectContaining({ type: 'Ready', status: 'True' })]),
    });
  });

  it('whose label others remove gets it back', async () => {
    await startTwo();
    test.server.nodes.patch('node-a', { metadata: { labels: { [label]: null } } });
    await test.settle();
    expect(test.server.nodes.get('node-a')?.metadata?.labels).not.toHaveProperty(label);
    await test.advance(11_000);
    expect(test.server.nodes.get('node-a')?.metadata?.labels).toMatchObject({ [label]: 'true' });
  });

  it('is read 75 s after the watch stalled, and what others changed in the meantime is seen', async () => {
    await startTwo();
    expect(test.server.faults.now(watch, fault.hang())).toBe(1);
    test.server.nodes.delete('node-b');
    test.server.nodes.patch('node-a', drain);
    await test.advance(86_000);
    expect(test.server.nodes.get('node-b')).toBeDefined();
    expect(test.nodes.node('node-a')?.getNode()?.spec).toMatchObject({ unschedulable: true });
  });

  it('that was written is not written again while the watch lags', async () => {
    let capacity = { cpu: '100', memory: '100Gi', pods: '1000' };
    const node = { ...test.node('node-a'), nodeStatus: () => ({ capacity }) };
    await test.startNodes([node, 'node-b']);
    await test.advance(12_000);
    expect(test.server.faults.now(watch, fault.hang())).toBe(1);
    capacity = { ...capacity, cpu: '200' };
    test.writes.length = 0;
    await test.advance(20_000);
    expect(test.nodes.node('node-a')?.getNode()?.status).toMatchObject({ capacity: { cpu: '200' } });
    expect(test.writes.filter((write) => write.includes('nodes/node-a/status'))).toHaveLength(1);
  });
});
