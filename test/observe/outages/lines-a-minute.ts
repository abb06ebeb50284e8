import { APIError } from '../../../src/kube/client/api-error.ts';
import { SyncHarness } from '../../status-manager/sync/sync-harness.ts';

const minutes = 5;

/** Lines at info and above, in the busiest minute of an outage in which the status of each pod changes every minute. */
export async function busiestMinute(pods: number): Promise<number> {
  const h = new SyncHarness();
  const names = Array.from({ length: pods }, (_, i) => `pod-${i}`);
  h.addPods(...names);
  h.manager.start();
  for (const name of names) h.set(name, 'before');
  await h.clock.advanceAsync(10_000);
  h.client.fail(
    {},
    new APIError('request to 10.0.0.1:6443 failed: ECONNREFUSED', { kind: 'network' }),
    Number.POSITIVE_INFINITY,
  );
  const counts: number[] = [];
  for (let minute = 0; minute < minutes; minute++) {
    const before = h.logger.lines.length;
    for (const name of names) h.set(name, `minute ${minute}`);
    await h.clock.advanceAsync(60_000);
    counts.push(h.logger.lines.slice(before).filter(({ level }) => level !== 'debug' && level !== 'trace').length);
  }
  await h.manager.stop();
  return Math.max(...counts);
}
