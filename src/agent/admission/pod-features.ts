import { podSpecOf } from '../../kube/objects/kube-object.ts';
import { type PodAdmitAttributes, type PodAdmitHandler, type PodAdmitResult, refusedFields } from '../../node/index.ts';

/**
 * Refuses pods that need a feature which a Node must declare, and which the agent's Node never does. Source: kubelet
 * `declaredFeaturesAdmitHandler`.
 */
export class PodFeaturesAdmitHandler implements PodAdmitHandler {
  admit({ pod }: PodAdmitAttributes): PodAdmitResult {
    const { hostNetwork, hostUsers } = podSpecOf(pod);
    const missing = new Set(hostNetwork === true && hostUsers === false ? ['UserNamespacesHostNetworkSupport'] : []);
    for (const { refused, because } of refusedFields('PodSpec', pod.spec, 'spec'))
      if (refused === 'PodFeatureUnsupported') missing.add(because);
    if (missing.size === 0) return { admit: true };
    const message = `Pod requires node features that are not available: ${[...missing].join(', ')}`;
    return { admit: false, reason: 'PodFeatureUnsupported', message };
  }
}
