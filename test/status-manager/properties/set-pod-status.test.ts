import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BasicPodManager } from '../../../src/kube/pod-manager/basic-pod-manager.ts';
import { StatusManager } from '../../../src/status-manager/status-manager.ts';
import { FakeClock } from '../../../src/testing/fake-clock.ts';
import { FakePodClient } from '../../../src/testing/fake-pod-client.ts';
import type { Pod, PodStatusInput } from '../../../src/kube/objects/types.ts';
import { deepFreeze } from '../../support/arbitraries.ts';
import { silentLogger } from '../../../src/testing/recording-logger.ts';
import { reformatted, statusArbitrary } from './reformatted.ts';

/** Restarts always, so that no transition is refused. */
const pod: Pod = deepFreeze({
  metadata: { uid: 'u', name: 'p', namespace: 'ns' },
  spec: { restartPolicy: 'Always' },
});

/** Without what a living pod's status does not bring to the API server: see `mergePodStatus`. */
const livingStatusArbitrary = statusArbitrary.map(({ phase, conditions, ...status }) => ({
  ...status,
  phase: phase === 'Failed' || phase === 'Succeeded' ? 'Running' : phase,
  conditions: conditions?.filter(({ type }) => type !== 'DisruptionTarget'),
}));

function managerWith(client = new FakePodClient([pod]), podManager = new BasicPodManager()): StatusManager {
  return new StatusManager({
    client,
    podManager,
    podCouldHaveRunningContainers: () => false,
    clock: new FakeClock(),
    logger: silentLogger,
  });
}

describe('setPodStatus', () => {
  it('the cached status in another format is not a change', () => {
    fc.assert(
      fc.property(
        statusArbitrary.chain((status) => fc.tuple(fc.constant(status), reformatted(status))),
        ([status, other]) => {
          const manager = managerWith();
          manager.setPodStatus(pod, deepFreeze(status));
          expect(manager.setPodStatus(pod, deepFreeze(other) as PodStatusInput).changed).toBe(false);
          expect(manager.setPodStatus(pod, manager.getPodStatus('u')!).changed).toBe(false);
          expect(manager.inspect().pods[0]?.version).toBe(1);
        },
      ),
    );
  });

  it('every sent status arrives, and the next full batch finds nothing to send', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(livingStatusArbitrary, { minLength: 1, maxLength: 3 }), async (statuses) => {
        const client = new FakePodClient([pod]);
        const podManager = new BasicPodManager();
        const manager = managerWith(client, podManager);
        for (const status of statuses) {
          manager.setPodStatus(pod, deepFreeze(status));
          await manager.syncBatch(false);
        }
        podManager.updatePod(client.pod('ns', 'p')!);
        expect((await manager.syncBatch(true)).tried).toBe(0);
      }),
    );
  });
});
