import { podFields } from '../../shared/log-fields.ts';
import type { Pod } from '../objects/types.ts';

/** `podFields` of an API object or a manifest. */
export function podFieldsOf({ metadata: { namespace = '', name = '', uid = '' } = {} }: Pod): object {
  return podFields(uid, { podNamespace: namespace, podName: name });
}
