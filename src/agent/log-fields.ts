import type { Pod } from '../index.ts';

/** Every log line of the agent about a pod starts with these fields. */
export function podFields({ metadata: { namespace = '', name = '', uid } = {} }: Pod): {
  readonly pod: string;
  readonly podUID: string | undefined;
} {
  return { pod: `${namespace}/${name}`, podUID: uid };
}
