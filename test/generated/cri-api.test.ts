import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { criMethods } from '../../src/cri/cri-api.ts';
import { generateCRIAPI } from './cri-api.ts';

const proto = `
syntax = "proto3";
package runtime.v1;
service RuntimeService {
  rpc Called(CalledRequest) returns (CalledResponse) {}
  rpc NotCalled(NotCalledRequest) returns (CalledResponse) {}
  rpc Watch(WatchRequest) returns (stream ContainerEventResponse) {}
}
message CalledRequest {
  string id = 1;
  repeated Device devices = 3;
  map<string, string> labels = 4;
  WindowsDevice windows = 5;
}
message CalledResponse { CalledRequest config = 1; Profile profile = 2; }
message Device { repeated Device parts = 1; }
message Profile { enum Type { Default = 0; None = 1; } Type type = 1; }
message WindowsDevice {}
message NotCalledRequest {}
message WatchRequest {}
message ContainerEventResponse { string container_id = 1; repeated Device containers_statuses = 5; }
`;

const text = generateCRIAPI(proto, 'v0.0.1', { RuntimeService: ['Called', 'Watch'] });
const table = (name: string): string => new RegExp(`const ${name} = \\{\\n(.*?)\\} as const`, 's').exec(text)![1]!;

describe('generateCRIAPI', () => {
  it('names the version', () => {
    expect(text).toContain('Generated from k8s.io/cri-api v0.0.1 ');
  });

  it('has every message that the methods need, without those for Windows and the fields that are skipped', () => {
    expect(table('criMessages')).toBe(`\
  CalledRequest: { id: [1, 'string'], devices: [3, 'repeated Device'], labels: [4, 'map string'] },
  Device: { parts: [1, 'repeated Device'] },
  CalledResponse: { config: [1, 'CalledRequest'], profile: [2, 'Profile'] },
  Profile: { type: [1, 'Type'] },
  WatchRequest: {},
  ContainerEventResponse: { container_id: [1, 'string'] },
`);
  });

  it('has the enums of these messages', () => {
    expect(table('criEnums')).toBe('  Type: { Default: 0, None: 1 },\n');
  });

  it('has the methods that return one response', () => {
    expect(table('criMethods')).toBe("  Called: ['RuntimeService', 'CalledRequest', 'CalledResponse'],\n");
  });
});

it('src/cri calls every method of cri-api.ts', () => {
  const folder = new URL('../../src/cri/', import.meta.url);
  const code = readdirSync(folder)
    .filter((name) => name !== 'cri-api.ts')
    .map((name) => readFileSync(new URL(name, folder), 'utf8'))
    .join('\n');
  expect(Object.keys(criMethods).filter((method) => !code.includes(`'${method}'`))).toEqual([]);
});
