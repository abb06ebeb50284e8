import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import {
  decodeAllocations,
  decodeEnvelope,
  encodeAllocations,
  encodeEnvelope,
  goMap,
  goString,
} from '../../../src/status-manager/allocation/checkpoint-format.ts';
import { allocationFromPod } from '../../../src/status-manager/allocation/pod-allocation.ts';

const recorded = new URL('../../../../shared/traces/checkpoint/', import.meta.url);
const samples = ['one', 'many'].map((name) => ({ name, url: new URL(`testdata/${name}.json`, import.meta.url) }));
if (existsSync(recorded)) {
  for (const name of readdirSync(recorded)) {
    samples.push({ name: `recorded ${name}`, url: new URL(`${name}/allocated_pods_state`, recorded) });
  }
}

describe('the kubelet’s file', () => {
  it.each(samples)('is read and written back byte for byte: $name', ({ url }) => {
    const text = readFileSync(url, 'utf8');
    const allocations = decodeAllocations(decodeEnvelope(text));
    expect(allocations.size).toBeGreaterThan(0);
    expect(encodeEnvelope(encodeAllocations(allocations))).toBe(text);
  });

  it.each([
    [
      'every part',
      '{"entries":{"u":{"ContainerResources":{"a":{"limits":{"cpu":"1"},"requests":{"cpu":"1"},"claims":[{"name":"c"},{"name":"d","request":"r"}]}},"PodLevelResources":{"limits":{"memory":"1Gi"}},"EmptyDirVolumeLimits":{"v":"1Gi","w":null}}}}',
    ],
    ['nulls', '{"entries":{"u":{"ContainerResources":null,"PodLevelResources":null,"EmptyDirVolumeLimits":null}}}'],
    [
      'empty parts',
      '{"entries":{"u":{"ContainerResources":{"a":{}},"PodLevelResources":{},"EmptyDirVolumeLimits":{}}}}',
    ],
    [
      'names that mean something to JavaScript',
      '{"entries":{"10":{"ContainerResources":{"__proto__":{"requests":{"__proto__":"1","constructor":"2"}}},"PodLevelResources":null,"EmptyDirVolumeLimits":null},"9":{"ContainerResources":{},"PodLevelResources":null,"EmptyDirVolumeLimits":null},"__proto__":{"ContainerResources":{"toString":{}},"PodLevelResources":null,"EmptyDirVolumeLimits":null}}}',
    ],
    ['no pods', '{"entries":{}}'],
  ])('keeps %s', (_, data) => {
    expect(encodeAllocations(decodeAllocations(data))).toBe(data);
    expect(({} as Record<string, unknown>)['requests']).toBeUndefined();
  });

  it('has the pod’s own resources beside its containers’', () => {
    const { podUID, allocation } = allocationFromPod({
      metadata: { uid: 'u' },
      spec: { resources: { limits: { cpu: '2000m' } }, containers: [{ name: 'app' }] },
    });
    expect(encodeAllocations(new Map([[podUID, allocation]]))).toBe(
      '{"entries":{"u":{"ContainerResources":{"app":{}},"PodLevelResources":{"limits":{"cpu":"2"}},"EmptyDirVolumeLimits":null}}}',
    );
  });
});

describe('goString and goMap', () => {
  it.each([
    ['<a>&"\\', String.raw`"\u003ca\u003e\u0026\"\\"`],
    ['\u2028\u2029', String.raw`"\u2028\u2029"`],
    ['\b\f\n\r\t\u0001\u007f', String.raw`"\b\f\n\r\t\u0001` + '\u007f"'],
    ['ü€😀/', '"ü€😀/"'],
  ])('writes %j as Go does', (text, json) => {
    expect(goString(text)).toBe(json);
  });

  it('sorts keys by their bytes', () => {
    const keys = ['\u{1f600}', '\uff61', 'b', 'B', 'a', '10', '9', ''];
    expect(
      goMap(
        keys.map((key) => [key, key] as const),
        () => '0',
      ),
    ).toBe('{"":0,"10":0,"9":0,"B":0,"a":0,"b":0,"\uff61":0,"\u{1f600}":0}');
  });
});
