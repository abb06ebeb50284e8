import { FakeClock, silentLogger } from 'kubelet-status-manager/testing';
import type { Pod } from 'kubelet-status-manager';
import { OwnedPodScope, PodScopes } from '../../src/node/owned-pod-scope.ts';

/** The scope of a pod that has begun, and that waits for nothing at its end. */
export function podScope(pod: Pod = { metadata: { name: 'pod', namespace: 'ns', uid: '1' } }): OwnedPodScope {
  return new OwnedPodScope({ pod, clock: new FakeClock(), logger: silentLogger });
}

export function podScopes(clock = new FakeClock()): PodScopes {
  return new PodScopes({ clock, logger: silentLogger });
}
