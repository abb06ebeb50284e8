import type { Pod } from '../kube/types.ts';

/** The fields with which every log line about a pod starts. */
export function podFields({ metadata: { namespace = '', name = '', uid } = {} }: Pod): {
  readonly pod: string;
  readonly podUID: string | undefined;
} {
  return { pod: `${namespace}/${name}`, podUID: uid };
}
