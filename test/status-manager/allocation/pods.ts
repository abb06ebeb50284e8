import type { Pod, ResourceRequirementsInput } from '../../../src/kube/objects/types.ts';

export function podOf(uid: string, containers: Record<string, ResourceRequirementsInput>): Pod {
  return {
    metadata: { uid, name: uid, namespace: 'default' },
    spec: { containers: Object.entries(containers).map(([name, resources]) => ({ name, resources })) },
  };
}

export function cpu(quantity: string): ResourceRequirementsInput {
  return { requests: { cpu: quantity } };
}
