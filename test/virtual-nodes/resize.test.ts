import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { podOf, TestNodes } from './test-nodes.ts';

let test: TestNodes;
beforeEach(async () => {
  test = await TestNodes.start();
});
afterEach(() => test[Symbol.asyncDispose]());

async function resize(cpu: string): Promise<void> {
  const client = test.server.client();
  const body = { spec: { containers: [{ name: 'app', resources: { requests: { cpu } } }] } };
  const contentType = 'application/strategic-merge-patch+json';
  await client.transport.request('PATCH', '/api/v1/namespaces/default/pods/web/resize', { contentType, body });
  await client.close();
}

const cpuOf = (): unknown => test.status('web')?.containerStatuses?.[0]?.resources?.requests?.['cpu'];
const web = podOf('web', { containers: [{ name: 'app', image: 'app:1', resources: { requests: { cpu: '1' } } }] });

describe.each(['while the process runs', 'while no process runs'])('a resize that is asked for %s', (when) => {
  it('is passed to updatePod once, and shown by the status of the pod when the cloud has accepted it', async () => {
    await test.startNodes();
    await test.create(web);
    await test.advance(7000);
    test.cloud.react('updatePod', () => new Error('not now'));
    if (when === 'while no process runs') await test.stopNodes({ drain: true });
    await resize('2');
    if (when === 'while no process runs') await test.startNodes();
    await test.advance(8000);
    expect(cpuOf()).toBe('1');
    expect(test.condition('web', 'PodResizeInProgress')).toBe('True');
    test.cloud.react('updatePod');
    await test.advance(30_000);
    expect(test.cloud.updates).toMatchObject([
      {
        pod: { spec: { containers: [{ resources: { requests: { cpu: '2' } } }] } },
        // What the cloud was told before a start is not known.
        previous:
          when === 'while no process runs'
            ? undefined
            : { spec: { containers: [{ resources: { requests: { cpu: '1' } } }] } },
      },
    ]);
    expect(cpuOf()).toBe('2');
    expect(test.condition('web', 'PodResizeInProgress')).toBeUndefined();
    expect(test.podEvents()).toContain('web: ResizeCompleted');
  });

  it('is infeasible with a provider that takes no updates', async () => {
    await test.startNodes(['node-a'], { provider: test.cloud.asProvider() });
    await test.create(web);
    await test.advance(7000);
    await resize('2');
    await test.advance(2000);
    expect(test.status('web')?.conditions?.find(({ type }) => type === 'PodResizePending')).toMatchObject({
      reason: 'Infeasible',
    });
  });
});
