import { isJSONObject, type JSONObject, objectOf, objectsOf, stringOf } from '../objects/json-object.ts';

const probeDefaults = { timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3 };
const httpGetDefaults = { path: '/', scheme: 'HTTP' };
const fieldRefDefaults = { apiVersion: 'v1' };

/** Fields of the volume sources that have defaults. */
const volumeDefaults: { readonly [source: string]: JSONObject } = {
  secret: { defaultMode: 0o644 },
  configMap: { defaultMode: 0o644 },
  downwardAPI: { defaultMode: 0o644 },
  projected: { defaultMode: 0o644 },
  hostPath: { type: '' },
  iscsi: { iscsiInterface: 'default' },
  rbd: { pool: 'rbd', user: 'admin', keyring: '/etc/ceph/keyring' },
  azureDisk: { cachingMode: 'ReadWrite', fsType: 'ext4', readOnly: false, kind: 'Shared' },
  scaleIO: { storageMode: 'ThinProvisioned', fsType: 'xfs' },
};

/** A decoded pod spec with the defaults of the API. Source: `SetObjectDefaults_Pod`. */
export function withPodSpecDefaults(spec: JSONObject): JSONObject {
  const serviceAccount = stringOf(spec, 'serviceAccountName') || stringOf(spec, 'serviceAccount');
  const grace = spec.terminationGracePeriodSeconds ?? 30;
  const hostNetwork = spec.hostNetwork === true;
  return {
    restartPolicy: 'Always',
    dnsPolicy: 'ClusterFirst',
    schedulerName: 'default-scheduler',
    enableServiceLinks: true,
    securityContext: {},
    ...spec,
    terminationGracePeriodSeconds: Number(grace) < 0 ? 1 : grace,
    ...(serviceAccount === '' ? {} : { serviceAccountName: serviceAccount, serviceAccount }),
    ...mapped(spec, 'containers', (container) => withContainerDefaults(container, hostNetwork)),
    ...mapped(spec, 'initContainers', (container) => withContainerDefaults(container, hostNetwork)),
    ...mapped(spec, 'ephemeralContainers', (container) => withContainerDefaults(container, false)),
    ...mapped(spec, 'volumes', withVolumeDefaults),
  };
}

/** `{field: list}` with `change` applied to each object of the list; empty if there is no list. */
function mapped(parent: JSONObject, field: string, change: (object: JSONObject) => JSONObject): JSONObject {
  return Array.isArray(parent[field]) ? { [field]: objectsOf(parent, field).map(change) } : {};
}

/** `{field: object}` with `change` applied to the object; empty if there is none. */
function changed(parent: JSONObject, field: string, change: (object: JSONObject) => JSONObject): JSONObject {
  const object = parent[field];
  return isJSONObject(object) ? { [field]: change(object) } : {};
}

function withContainerDefaults(container: JSONObject, hostNetwork: boolean): JSONObject {
  return {
    terminationMessagePath: '/dev/termination-log',
    terminationMessagePolicy: 'File',
    imagePullPolicy: pullPolicyOf(stringOf(container, 'image')),
    ...container,
    resources: withDefaultRequests(objectOf(container, 'resources')),
    ...mapped(container, 'ports', (port) => ({
      ...(hostNetwork ? { hostPort: port.containerPort } : {}),
      protocol: 'TCP',
      ...port,
    })),
    ...mapped(container, 'env', (variable) => ({
      ...variable,
      ...changed(variable, 'valueFrom', (source) => ({
        ...source,
        ...withFieldRefDefaults(source),
        ...changed(source, 'fileKeyRef', (ref) => ({ optional: false, ...ref })),
      })),
    })),
    ...changed(container, 'livenessProbe', withProbeDefaults),
    ...changed(container, 'readinessProbe', withProbeDefaults),
    ...changed(container, 'startupProbe', withProbeDefaults),
    ...withLifecycleDefaults(container),
  };
}

/** Without `stopSignal`, whose feature gate is off. */
function withLifecycleDefaults(container: JSONObject): JSONObject {
  if (!isJSONObject(container.lifecycle)) return {};
  const { stopSignal: _gated, ...hooks } = container.lifecycle;
  const isEmpty = Object.keys(hooks).length === 0 && _gated !== undefined;
  const lifecycle = {
    ...changed(hooks, 'postStart', withHandlerDefaults),
    ...changed(hooks, 'preStop', withHandlerDefaults),
  };
  return { lifecycle: isEmpty ? undefined : lifecycle };
}

function withProbeDefaults(probe: JSONObject): JSONObject {
  return {
    ...probeDefaults,
    ...withHandlerDefaults(probe),
    ...changed(probe, 'grpc', (grpc) => ({ ...grpc, service: stringOf(grpc, 'service') })),
  };
}

function withHandlerDefaults(handler: JSONObject): JSONObject {
  return { ...handler, ...changed(handler, 'httpGet', (httpGet) => ({ ...httpGetDefaults, ...httpGet })) };
}

function withFieldRefDefaults(parent: JSONObject): JSONObject {
  return changed(parent, 'fieldRef', (ref) => ({ ...fieldRefDefaults, ...ref }));
}

/** `Always` for the tag `latest`, which an image without tag and digest has. */
function pullPolicyOf(image: string): string {
  const tag = image === '' || image.includes('@') ? '' : (/:([^/:]*)$/.exec(image)?.[1] ?? 'latest');
  return tag === 'latest' ? 'Always' : 'IfNotPresent';
}

/** A missing request equals the limit. */
function withDefaultRequests(resources: JSONObject): JSONObject {
  const { limits, requests } = resources;
  if (!isJSONObject(limits)) return resources;
  return { ...resources, requests: { ...limits, ...(isJSONObject(requests) ? requests : {}) } };
}

function withVolumeDefaults(volume: JSONObject): JSONObject {
  const [source = ''] = Object.keys(volume).filter((field) => field !== 'name');
  if (source === '') return { ...volume, emptyDir: {} };
  const items = (parent: JSONObject) => ({
    ...parent,
    ...mapped(parent, 'items', (item) => ({ ...item, ...withFieldRefDefaults(item) })),
  });
  return {
    ...volume,
    ...changed(volume, source, (object) => ({ ...volumeDefaults[source], ...object })),
    ...changed(volume, 'downwardAPI', (object) => items({ ...volumeDefaults.downwardAPI, ...object })),
    ...changed(volume, 'image', (image) => ({ pullPolicy: pullPolicyOf(stringOf(image, 'reference')), ...image })),
    ...changed(volume, 'projected', (projected) => ({
      ...volumeDefaults.projected,
      ...projected,
      ...mapped(projected, 'sources', (one) => ({
        ...one,
        ...changed(one, 'downwardAPI', items),
        ...changed(one, 'serviceAccountToken', (token) => ({ expirationSeconds: 3600, ...token })),
      })),
    })),
    ...changed(volume, 'ephemeral', (ephemeral) => ({
      ...ephemeral,
      ...changed(ephemeral, 'volumeClaimTemplate', (template) => ({
        ...template,
        ...changed(template, 'spec', (spec) => ({ volumeMode: 'Filesystem', ...spec })),
      })),
    })),
  };
}
