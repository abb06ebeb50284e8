import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { describe, expect, it } from 'vitest';
import { computePodQOS } from '../../../src/status-manager/status/qos.ts';
import { decodeSinglePod, applyDefaults } from '../../../src/node/config/decode-manifest.ts';
import { parseJSONLines } from '../../support/shared-traces.ts';

/** What the kubelet's file source on node `node-a` makes of a manifest. */
interface Row {
  readonly name: string;
  readonly manifest: string;
  readonly kubelet:
    | 'refused'
    | {
        readonly name: string;
        readonly ns: string;
        readonly labels: object | null;
        readonly qos: string;
        readonly spec: object;
      };
}

const rows = parseJSONLines<Row>(readFileSync(new URL('testdata/static-manifests.jsonl', import.meta.url), 'utf8'));

const decode = (manifest: string) =>
  decodeSinglePod(manifest, parse, { source: 'f', isFile: true, nodeName: 'node-a' });

function resultOf(manifest: string): Row['kubelet'] {
  try {
    const pod = decode(manifest);
    const { name, namespace, labels = null } = pod.metadata;
    return { name, ns: namespace, labels, qos: computePodQOS(pod), spec: pod.spec! };
  } catch {
    return 'refused';
  }
}

describe('a static manifest becomes the same pod as in the kubelet, or is refused like there', () => {
  it.each(rows)('$name', ({ manifest, kubelet }) => {
    expect(resultOf(manifest)).toEqual(kubelet);
  });
});

const withSpec = (spec: object, metadata: object = {}): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'web', ...metadata },
    spec: { containers: [{ name: 'app', image: 'app:1' }], ...spec },
  });
const withContainer = (fields: object): string =>
  withSpec({ containers: [{ name: 'app', image: 'app:1', ...fields }] });
const exec = { exec: { command: ['true'] } };

describe('a manifest that is refused: the reason names the field and quotes no value', () => {
  it.each<[string, string]>([
    [withContainer({ image: undefined }), 'spec.containers[0].image: Required value'],
    [withContainer({ ports: [{ containerPort: '80' }] }), 'spec.containers.ports.containerPort'],
    [withContainer({ ports: [{ containerPort: 65_536 }] }), 'spec.containers[0].ports[0].containerPort: Invalid value'],
    [
      withContainer({ resources: { requests: { cpu: '2' }, limits: { cpu: '1' } } }),
      'spec.containers[0].resources.requests',
    ],
    [withContainer({ resources: { limits: { cpu: 'secret' } } }), 'quantities must match'],
    [
      withSpec({ volumes: [{ name: 'v', emptyDir: {}, hostPath: { path: '/secret' } }] }),
      'spec.volumes[0].hostPath: Forbidden',
    ],
    [withContainer({ livenessProbe: { ...exec, periodSeconds: -1 } }), 'livenessProbe.periodSeconds: Invalid value'],
    [
      withContainer({ startupProbe: { ...exec, initialDelaySeconds: -1 } }),
      'startupProbe.initialDelaySeconds: Invalid value',
    ],
    [withSpec({}, { labels: { a: 'secret value' } }), 'metadata.labels: Invalid value'],
    [withSpec({}, { namespace: 'Secret' }), 'metadata.namespace: Invalid value'],
    [withSpec({ hostNetwork: 'secret' }), 'PodSpec.spec.hostNetwork of type bool'],
    [withSpec({ activeDeadlineSeconds: 0 }), 'spec.activeDeadlineSeconds: Invalid value'],
    [
      withSpec({ ephemeralContainers: [{ name: 'debug', image: 'sh:1' }] }),
      'spec.ephemeralContainers: Forbidden: cannot be set on create',
    ],
    [withContainer({ env: [{ value: 'secret' }] }), 'spec.containers[0].env[0].name: Required value'],
    [
      withContainer({
        restartPolicy: 'Never',
        restartPolicyRules: [{ action: 'Stop', exitCodes: { operator: 'Is' } }],
      }),
      'restartPolicyRules[0].action: Unsupported value',
    ],
    [
      withContainer({ restartPolicy: 'Never', restartPolicyRules: [{ action: 'Restart' }] }),
      'exitCodes: Required value',
    ],
    [
      withContainer({
        restartPolicy: 'Never',
        restartPolicyRules: Array.from({ length: 21 }, () => ({
          action: 'Restart',
          exitCodes: { operator: 'In', values: [1] },
        })),
      }),
      'restartPolicyRules: Too many: 21: must have at most 20 items',
    ],
  ])('%s', (manifest, reason) => {
    let refusal = '';
    try {
      decode(manifest);
    } catch (thrown) {
      refusal = (thrown as Error).message;
    }
    expect(refusal).toContain(reason);
    expect(refusal).not.toMatch(/secret/i);
  });
});

it('a toleration of all NoExecute taints keeps its place and loses its seconds', () => {
  const any = { operator: 'Exists', effect: 'NoExecute' };
  const { spec } = decode(
    withSpec({
      tolerations: [
        { ...any, tolerationSeconds: 5 },
        { key: 'a', operator: 'Exists' },
      ],
    }),
  );
  expect(spec?.tolerations).toEqual([any, { key: 'a', operator: 'Exists' }]);
});

it.each<[string, object]>([
  ['with a key', { key: 'a', operator: 'Exists', effect: 'NoExecute' }],
  ['with a value', { operator: 'Exists', effect: 'NoExecute', value: 'a' }],
  ['of another operator', { operator: 'Equal', effect: 'NoExecute' }],
  ['of another effect', { operator: 'Exists', effect: 'NoSchedule' }],
  ['of all effects', { operator: 'Exists' }],
])('another toleration stays, before that of all NoExecute taints: %s', (_, toleration) => {
  const any = { operator: 'Exists', effect: 'NoExecute' };
  // Not every one of them is valid, and so is not decoded.
  const origin = { source: 'f', isFile: true, nodeName: 'node-a' };
  const manifest = { metadata: { name: 'web' }, spec: { tolerations: [toleration, { ...any, tolerationSeconds: 5 }] } };
  expect(applyDefaults(manifest, origin).spec?.tolerations).toEqual([toleration, any]);
  expect(applyDefaults({ ...manifest, spec: { tolerations: [toleration] } }, origin).spec?.tolerations).toEqual([
    toleration,
    any,
  ]);
});
