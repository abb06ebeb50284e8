import { podFields } from '../../shared/log-fields.ts';
import type { Pod } from '../objects/types.ts';

/** `podFields` of an API object or a manifest. */
export function podFieldsOf({ metadata: { namespace = '', name = '', uid = '' } = {} }: Pod): object {
  return podFields(uid, { podNamespace: namespace, podName: name });
}

/** The pod in messages that users see. Source: kubelet `format.Pod`. */
export function formatPod({ metadata: { name, namespace, uid } = {} }: Pod): string {
  return `${name}_${namespace}(${uid})`;
}
