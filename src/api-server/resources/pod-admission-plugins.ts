import { type JSONObject, objectsOf, stringOf } from '../../kube/objects/json-object.ts';

const tolerationSeconds = 300;
/** The preemption policy of all priority classes. */
export const preemptionPolicy = 'PreemptLowerPriority';

/** Priorities of the two built-in classes. */
const priorityClasses: { readonly [name: string]: number } = {
  'system-cluster-critical': 2_000_000_000,
  'system-node-critical': 2_000_001_000,
};

/** Defaults that the default admission plugins set at create. */
export function admitPodSpec(spec: JSONObject): JSONObject {
  return {
    ...withDefaultTolerations(spec),
    priority: priorityOfClass(stringOf(spec, 'priorityClassName')) ?? 0,
    preemptionPolicy,
  };
}

/** The DefaultTolerationSeconds admission plugin, which acts on updates too. */
export function withDefaultTolerations(spec: JSONObject): JSONObject {
  const tolerations = objectsOf(spec, 'tolerations');
  const missing = ['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable'].filter(
    (key) => !tolerations.some((toleration) => tolerates(toleration, key)),
  );
  const added = missing.map((key) => ({ key, operator: 'Exists', effect: 'NoExecute', tolerationSeconds }));
  return { ...spec, tolerations: [...tolerations, ...added] };
}

function tolerates(toleration: JSONObject, key: string): boolean {
  const wanted = stringOf(toleration, 'key');
  const effect = stringOf(toleration, 'effect');
  return (wanted === key || wanted === '') && (effect === 'NoExecute' || effect === '');
}

/** The priority of a class, undefined for a class that does not exist. Source: `scheduling.k8s.io` built-ins. */
export function priorityOfClass(name: string): number | undefined {
  return name === '' ? 0 : Object.hasOwn(priorityClasses, name) ? priorityClasses[name] : undefined;
}
