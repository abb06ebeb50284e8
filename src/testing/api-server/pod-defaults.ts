import { decodeQuantities, decodeObject, decodeObjects, DecodeError, decodeString } from './decode.ts';
import { isJSONObject, type JSONObject, objectOf, objectsOf, stringOf, withoutNulls } from './objects.ts';

const tolerationSeconds = 300;
const stringMembers = ['nodeName', 'restartPolicy', 'serviceAccountName', 'priorityClassName', 'hostname'];

/** Priorities of the two built-in classes. */
const priorityClasses: { readonly [name: string]: number } = {
  'system-cluster-critical': 2_000_000_000,
  'system-node-critical': 2_000_001_000,
};

/**
 * A pod's spec with the defaults that a server writes into it, as far as clients and kubectl
 * notice them. Divergence: unknown members of a spec are kept.
 * @throws DecodeError for a list, map, quantity or one of the better-known strings of the wrong type
 */
export function decodePodSpec(raw: JSONObject): JSONObject {
  const spec = withoutNulls(raw) as JSONObject;
  const hostNetwork = spec.hostNetwork === true;
  const path = 'spec';
  const decoded: JSONObject = {
    ...spec,
    restartPolicy: spec.restartPolicy ?? 'Always',
    terminationGracePeriodSeconds: spec.terminationGracePeriodSeconds ?? 30,
    dnsPolicy: spec.dnsPolicy ?? 'ClusterFirst',
    securityContext: decodeObject(spec, 'securityContext', path) ?? {},
    schedulerName: spec.schedulerName ?? 'default-scheduler',
    enableServiceLinks: spec.enableServiceLinks ?? true,
  };
  for (const member of ['containers', 'initContainers', 'ephemeralContainers']) {
    const containers = decodeObjects(spec, member, path);
    if (containers !== undefined) decoded[member] = containers.map((raw) => decodeContainer(raw, hostNetwork));
  }
  const volumes = decodeObjects(spec, 'volumes', path);
  if (volumes !== undefined) decoded.volumes = volumes.map(decodeVolume);
  if (isJSONObject(spec.resources)) decoded.resources = decodeResources(spec.resources);
  for (const member of ['tolerations', 'readinessGates']) decodeObjects(spec, member, path);
  for (const member of stringMembers) decodeString(spec, member, path);
  const grace = decoded.terminationGracePeriodSeconds;
  if (typeof grace !== 'number')
    throw new DecodeError('json: cannot unmarshal into field spec.terminationGracePeriodSeconds');
  return decoded;
}

function decodeContainer(raw: JSONObject, hostNetwork: boolean): JSONObject {
  const image = stringOf(raw, 'image');
  const container: JSONObject = {
    ...raw,
    resources: decodeResources(objectOf(raw, 'resources')),
    terminationMessagePath: raw.terminationMessagePath ?? '/dev/termination-log',
    terminationMessagePolicy: raw.terminationMessagePolicy ?? 'File',
    imagePullPolicy: raw.imagePullPolicy ?? (isLatest(image) ? 'Always' : 'IfNotPresent'),
  };
  const ports = decodeObjects(raw, 'ports', 'spec.containers');
  if (ports !== undefined) {
    container.ports = ports.map((port) => ({
      ...(hostNetwork && port.hostPort === undefined ? { hostPort: port.containerPort } : {}),
      ...port,
      protocol: port.protocol ?? 'TCP',
    }));
  }
  for (const member of ['livenessProbe', 'readinessProbe', 'startupProbe']) {
    const probe = decodeObject(raw, member, 'spec.containers');
    if (probe !== undefined) {
      container[member] = { timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3, ...probe };
    }
  }
  return container;
}

/** No tag and no digest, or the tag `latest`. */
function isLatest(image: string): boolean {
  if (image.includes('@')) return false;
  const tag = /:([^/:]*)$/.exec(image)?.[1];
  return tag === undefined || tag === 'latest';
}

function decodeResources(raw: JSONObject): JSONObject {
  const path = 'spec.containers.resources';
  const limits = decodeQuantities(raw, 'limits', path);
  const requests = decodeQuantities(raw, 'requests', path);
  if (limits === undefined && requests === undefined) return { ...raw };
  return { ...raw, ...(limits === undefined ? {} : { limits }), requests: { ...limits, ...requests } };
}

function decodeVolume(raw: JSONObject): JSONObject {
  if (Object.keys(raw).every((member) => member === 'name')) return { ...raw, emptyDir: {} };
  const volume: JSONObject = { ...raw };
  for (const source of ['configMap', 'secret', 'downwardAPI', 'projected']) {
    if (isJSONObject(raw[source])) volume[source] = { defaultMode: 0o644, ...raw[source] };
  }
  if (isJSONObject(raw.hostPath)) volume.hostPath = { type: '', ...raw.hostPath };
  return volume;
}

/** What the default admission plugins add at create. */
export function admitPodSpec(spec: JSONObject): JSONObject {
  const serviceAccountName = stringOf(spec, 'serviceAccountName') || stringOf(spec, 'serviceAccount');
  return {
    ...withDefaultTolerations(spec),
    ...(serviceAccountName === '' ? {} : { serviceAccountName, serviceAccount: serviceAccountName }),
    priority: priorityOfClass(stringOf(spec, 'priorityClassName')) ?? 0,
    preemptionPolicy: spec.preemptionPolicy ?? 'PreemptLowerPriority',
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
