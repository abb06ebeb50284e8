import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { TestDirectories } from '../support/directories.ts';
import { changesBetween, formatChanges, type Ported, type UpstreamRelease } from './changes.ts';

const directories = new TestDirectories();
afterEach(() => directories.removeAll());

interface Tree {
  readonly generate: string;
  readonly test: string;
  readonly types: string;
  readonly gates: string;
  readonly proto: string;
}

function release({ generate, test, types, gates, proto }: Tree): UpstreamRelease {
  const folder = directories.create();
  const files = {
    'kubernetes/pkg/kubelet/status/generate.go': generate,
    'kubernetes/pkg/kubelet/status/generate_test.go': test,
    'kubernetes/pkg/kubelet/cm/cpumanager/policy.go': `func GeneratePodReady() {\n\treturn ${types.length}\n}\n`,
    'kubernetes/pkg/probe/probe.go': '',
    'kubernetes/pkg/api/v1/pod/util.go': '',
    'kubernetes/pkg/features/kube_features.go': gates,
    'api/core/v1/types.go': types,
    'cri-api/pkg/apis/runtime/v1/api.proto': proto,
  };
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), text);
  }
  return { kubernetes: join(folder, 'kubernetes'), api: join(folder, 'api'), criAPI: join(folder, 'cri-api') };
}

const ported: Ported = {
  functions: new Map([['GeneratePodReady', 'generate.ts']]),
  testFunctions: new Map([['TestGeneratePodReady', 'generate.test.ts']]),
  structs: new Map([['PodStatus', 'kube-types.ts']]),
  gates: new Map([['PodReady', 'feature-gates.md: same']]),
  messages: new Map([['ContainerStatus', 'cri-api.ts']]),
};

const before: Tree = {
  generate: `func GeneratePodReady(pod *v1.Pod) bool {\n\t// The old one.\n\treturn true\n}\n\nfunc other() {\n\treturn\n}\n`,
  test: `func TestGeneratePodReady(t *testing.T) {
	tests := []struct{ name string; want bool }{
		{name: "ready {1}", want: true},
		{name: "gone", want: true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) { GeneratePodReady(nil) })
	}
}
`,
  types:
    'type PodStatus struct {\n\tPhase PodPhase `json:"phase,omitempty" protobuf:"bytes,1"`\n}\ntype Foreign struct {\n\tA int\n}\n',
  gates:
    '\tPodReady: {\n\t\t{Version: version.MustParse("1.36"), Default: true, PreRelease: featuregate.Beta},\n\t},\n',
  proto: 'message ContainerStatus {\n    // ID.\n    string id = 1;\n}\nmessage Foreign {\n    string id = 1;\n}\n',
};

it('nothing is named if only comments, tags of protobuf and what is not ported differ', () => {
  const after = {
    ...before,
    generate: before.generate.replace('The old one', 'The same one').replace('other', 'another'),
    types: before.types.replace('bytes,1', 'bytes,2').replace('A int', 'B int'),
    proto: before.proto.replace('// ID.', '// The ID.'),
  };
  expect(changesBetween(release(before), release(after), ported)).toEqual([]);
});

it('names single fields, gates, test cases and fields of CRI messages, each with its counterpart and the tests that changed', () => {
  const after: Tree = {
    generate: before.generate.replace('return true', 'return false'),
    test: before.test
      .replace('{name: "ready {1}", want: true}', '{name: "ready {1}", want: false}')
      .replace('"gone"', '"not there"')
      .concat('\nfunc TestNew(t *testing.T) {\n\t_ = v1.PodStatus{Hold: true}\n}\n'),
    types: before.types.replace('\tPhase', '\tHold bool `json:"hold"`\n\tPhase'),
    gates: before.gates
      .replace(
        '},\n\t}',
        '},\n\t\t{Version: version.MustParse("1.37"), Default: true, PreRelease: featuregate.GA},\n\t}',
      )
      .concat(before.gates.replace('PodReady', 'Scheduling')),
    proto: before.proto.replace('string id = 1;', 'string id = 1;\n    int64 pid = 2;'),
  };
  expect(formatChanges(changesBetween(release(before), release(after), ported))).toEqual([
    'GeneratePodReady (changed); generate.ts; tests that changed: TestGeneratePodReady',
    'TestGeneratePodReady/ready {1} (changed); generate.test.ts',
    'TestGeneratePodReady/gone (removed); generate.test.ts',
    'TestGeneratePodReady/not there (new); generate.test.ts',
    'TestNew (new); no counterpart yet',
    'PodStatus.Hold (new); kube-types.ts; now: bool hold; tests that changed: TestNew',
    'PodReady (changed); feature-gates.md: same; now: 1.36 Beta on, 1.37 GA on; no test that names it changed',
    'ContainerStatus.pid (new); cri-api.ts; now: int64 pid = 2; no test that names it changed',
  ]);
});

it('a gate that the kubelet asks for and nobody has noted has no counterpart yet', () => {
  const after = {
    ...before,
    gates: before.gates + before.gates.replace('PodReady', 'Brand'),
    generate: `${before.generate}func asks() {\n\tEnabled(features.Brand)\n}\n`,
  };
  expect(formatChanges(changesBetween(release(before), release(after), ported))).toEqual([
    'Brand (new); no counterpart yet; now: 1.36 Beta on; no test that names it changed',
  ]);
});

it('many changes of one enum are one line', () => {
  const values = Array.from({ length: 12 }, (_, i) => `    V${i} = ${i};`).join('\n');
  const enumPorted = { ...ported, messages: new Map([['Signal', 'cri-api.ts']]) };
  const changes = changesBetween(
    release(before),
    release({ ...before, proto: `enum Signal {\n${values}\n}\n` }),
    enumPorted,
  );
  expect(formatChanges(changes)).toEqual(['Signal: 12 (new): V0, V1, V2, …; cri-api.ts']);
});
