import { BasicPodManager, type Pod, StatusManager } from 'kubelet-status-manager';
import { FakeClock, FakePodClient } from 'kubelet-status-manager/testing';
import { describe, expect, it } from 'vitest';
import { type FooterFacts, footerLines } from '../../../examples/node-agent/footer.ts';

async function setUp() {
  const podOf = (name: string): Pod => ({ metadata: { namespace: 'default', name, uid: name }, spec: {} });
  const pods = [podOf('a'), podOf('b')];
  const clock = new FakeClock();
  const client = new FakePodClient(pods);
  const podManager = new BasicPodManager();
  const manager = new StatusManager({ client, podManager, podCouldHaveRunningContainers: () => false, clock });
  for (const pod of pods) {
    podManager.updatePod(pod);
    manager.setPodStatus(pod, { phase: 'Pending' });
  }
  await manager.syncBatch(true);
  const fail = (): void =>
    client.react({ verb: 'get' }, () => {
      throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
    });
  const set = (name: string): void => {
    clock.advance(2_000);
    manager.setPodStatus(podOf(name), { phase: 'Running', message: clock.now().toString() });
  };
  const lines = (width: number, facts: Partial<FooterFacts> = {}): string[] =>
    footerLines(
      {
        inspection: manager.inspect(),
        explain: (uid) => manager.explain(uid),
        outage: { remainingSeconds: undefined, durationSeconds: 20 },
        recovery: undefined,
        url: 'http://127.0.0.1:1/statusz/',
        log: ['a line of the log'],
        ...facts,
      },
      width,
    ).map(({ text }) => text);
  return { manager, fail, set, lines };
}

const down = { remainingSeconds: 16, durationSeconds: 20 };

describe('the lines below the table', () => {
  it('count what is unsent, and explain the pod that waits the longest, up to the end of the sentence', async () => {
    const { manager, fail, set, lines } = await setUp();
    expect(lines(80)[2]).toBe('The API server is up. Nothing is unsent.');
    fail();
    set('b');
    set('b');
    await manager.syncBatch(false);
    set('a');
    for (const width of [80, 100, 160]) {
      const [, , server, ...rest] = lines(width, { outage: down });
      expect(server).toBe('The API server is DOWN, back in 16 s. Unsent: 3 statuses of 2 pods.');
      const explanation = rest.slice(0, -1);
      expect(explanation.join(' ').trim()).toBe(manager.explain('b').sentence);
      for (const line of [server!, ...rest]) expect(line.length).toBeLessThanOrEqual(width);
    }
  });

  it('keep their places while the explanation changes', async () => {
    const { manager, fail, set, lines } = await setUp();
    const upLines = lines(80);
    fail();
    set('b');
    await manager.syncBatch(false);
    expect(lines(80)).toHaveLength(upLines.length);
    expect(upLines[1]).toBe('o: stop the API server for 20 s, q: end. http://127.0.0.1:1/statusz/');
  });

  it('say how the last outage ended', async () => {
    const { lines } = await setUp();
    const recovery = { caughtUpMs: 430, statuses: 14, pods: 5, lost: [] };
    expect(lines(80, { recovery })[2]).toBe('The API server is up. Caught up in 0.4 s, 14 statuses, none lost.');
    const lost = { ...recovery, lost: ['default/a', 'default/b'] };
    expect(lines(80, { recovery: lost })[2]).toContain('14 statuses, LOST: default/a, default/b.');
  });
});
