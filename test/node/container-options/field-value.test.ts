import { describe, expect, it } from 'vitest';
import { fieldPathAsString, podFieldSelectorRuntimeValue } from '../../../src/node/container-options/field-value.ts';
import { ContainerConfigError } from '../../../src/node/runtime/container-runtime.ts';

describe('TestExtractFieldPathAsString: fieldPathAsString', () => {
  it.each<[string, string, object, string]>([
    ['ok - namespace', 'metadata.namespace', { namespace: 'object-namespace' }, 'object-namespace'],
    ['ok - name', 'metadata.name', { name: 'object-name' }, 'object-name'],
    ['ok - labels', 'metadata.labels', { labels: { key: 'value' } }, 'key="value"'],
    ['ok - labels bslash n', 'metadata.labels', { labels: { key: 'value\n' } }, String.raw`key="value\n"`],
    ['ok - annotations', 'metadata.annotations', { annotations: { builder: 'john-doe' } }, 'builder="john-doe"'],
    [
      'ok - annotation',
      "metadata.annotations['spec.pod.beta.kubernetes.io/statefulset-index']",
      { annotations: { 'spec.pod.beta.kubernetes.io/statefulset-index': '1' } },
      '1',
    ],
    [
      'ok - annotation in upper case',
      "metadata.annotations['Www.k8s.io/test']",
      { annotations: { 'Www.k8s.io/test': '1' } },
      '1',
    ],
    ['ok - uid', 'metadata.uid', { uid: 'b70b3269' }, 'b70b3269'],
    ['ok - label', "metadata.labels['something']", { labels: { something: 'label value' } }, 'label value'],
    // Not among upstream's.
    ['a label that the pod does not have', "metadata.labels['other']", { labels: { something: 'x' } }, ''],
    ['a name of every object', "metadata.labels['toString']", { labels: { something: 'x' } }, ''],
    ['a label is not an annotation', "metadata.labels['a']", { labels: { a: '1' }, annotations: { a: '2' } }, '1'],
    ['several entries, sorted', 'metadata.labels', { labels: { b: '1', c: '3', a: '2' } }, 'a="2"\nb="1"\nc="3"'],
  ])('%s', (_name, fieldPath, metadata, expected) => {
    expect(fieldPathAsString({ metadata }, fieldPath)).toBe(expected);
  });

  it.each(['metadata.name', 'metadata.namespace', 'metadata.uid', 'metadata.labels', "metadata.annotations['a']"])(
    '%s of a pod without it is empty',
    (fieldPath) => {
      expect(fieldPathAsString({ metadata: {} }, fieldPath)).toBe('');
      expect(fieldPathAsString({}, fieldPath)).toBe('');
    },
  );

  it.each([
    ['invalid expression', 'metadata.whoops', 'unsupported fieldPath: metadata.whoops'],
    ['invalid annotation key', "metadata.annotations['invalid~key']", 'invalid key subscript in metadata.annotations'],
    ['invalid label key', "metadata.labels['Www.k8s.io/test']", 'invalid key subscript in metadata.labels'],
    [
      'invalid subscript',
      "metadata.notexisting['something']",
      `fieldPath "metadata.notexisting['something']" does not support subscript`,
    ],
    // Not among upstream's.
    ['a subscript of another field', "metadata.name['a']", `fieldPath "metadata.name['a']" does not support subscript`],
    ['an empty subscript', "metadata.labels['']", "invalid key subscript in metadata.labels['']: "],
    ['a subscript with spaces', "metadata.labels[ 'key' ]", "unsupported fieldPath: metadata.labels[ 'key' ]"],
    ['a subscript without its end', "metadata.labels['key'", "unsupported fieldPath: metadata.labels['key'"],
    ['a subscript without its beginning', "metadata.labels.key']", "unsupported fieldPath: metadata.labels.key']"],
    ['a subscript of one quote', "metadata.labels[']", "unsupported fieldPath: metadata.labels[']"],
    ['only a subscript', "['key']", "unsupported fieldPath: ['key']"],
  ])('%s', (_name, fieldPath, message) => {
    const read = (): string => fieldPathAsString({ metadata: { labels: { key: 'x' } } }, fieldPath);
    expect(read).toThrow(ContainerConfigError);
    expect(read).toThrow(message);
  });

  it('says what is wrong with a key, as validation does', () => {
    expect(() => fieldPathAsString({}, "metadata.annotations['invalid~key']")).toThrow(
      /^invalid key subscript in metadata\.annotations\['invalid~key'\]: name part must consist of alphanumeric/,
    );
  });

  it.each([
    ['quotes and backslashes', String.raw`a"b\c`, String.raw`a\"b\\c`],
    ['control characters with a name', '\u0007\b\f\n\r\t\v', String.raw`\a\b\f\n\r\t\v`],
    ['other control characters', '\u0000\u001b\u007f', String.raw`\x00\x1b\x7f`],
    ['what cannot be printed', '\u0085\u00ad\u2028', String.raw`\u0085\u00ad\u2028`],
    ['what cannot be printed beyond 16 bits', '\u{e0001}', String.raw`\U000e0001`],
    ['spaces of other kinds', 'a b\u00a0c\u3000', String.raw`a b\u00a0c\u3000`],
    ['everything else', "é 世界 🙂 '$`", "é 世界 🙂 '$`"],
  ])('quotes %s as Go does', (_name, text, quoted) => {
    expect(fieldPathAsString({ metadata: { annotations: { a: text } } }, 'metadata.annotations')).toBe(`a="${quoted}"`);
  });
});

describe('TestPodFieldSelectorRuntimeValue: podFieldSelectorRuntimeValue', () => {
  const pod = {
    metadata: { name: 'pod', namespace: 'ns', uid: 'u1', labels: { a: '1' } },
    spec: { nodeName: 'node', serviceAccountName: 'robot' },
  };
  const addresses = { podIPs: ['10.0.0.1', 'fd00::1'], hostIPs: ['192.0.2.1', '2001:db8::1'] };
  const value = (fieldPath: string, known: object = {}, apiVersion?: string): string =>
    podFieldSelectorRuntimeValue({ fieldPath, apiVersion }, pod, { ...addresses, ...known });

  it.each([
    ['metadata.uid', 'u1'],
    ["metadata.labels['a']", '1'],
    ['spec.nodeName', 'node'],
    ['spec.host', 'node'],
    ['spec.serviceAccountName', 'robot'],
    ['status.podIP', '10.0.0.1'],
    ['status.podIPs', '10.0.0.1,fd00::1'],
    ['status.hostIP', '192.0.2.1'],
    ['status.hostIPs', '192.0.2.1,2001:db8::1'],
  ])('%s is %s', (fieldPath, expected) => {
    expect(value(fieldPath)).toBe(expected);
    expect(value(fieldPath, {}, 'v1')).toBe(expected);
  });

  it.each(['spec.nodeName', 'spec.host', 'spec.serviceAccountName', 'status.podIP', 'status.hostIP', 'status.podIPs'])(
    '%s is empty until it is known',
    (fieldPath) => {
      expect(podFieldSelectorRuntimeValue({ fieldPath }, {}, { podIPs: [], hostIPs: [] })).toBe('');
    },
  );

  it('the primary address of a pod has the family of the primary address of its node', () => {
    const hostIPs = ['2001:db8::1', '192.0.2.1'];
    expect(value('status.podIP', { hostIPs })).toBe('fd00::1');
    expect(value('status.podIPs', { hostIPs })).toBe('fd00::1,10.0.0.1');
    expect(value('status.podIPs', { hostIPs, podIPs: ['10.0.0.1'] })).toBe('10.0.0.1');
    expect(value('status.podIPs', { hostIPs: [] })).toBe('10.0.0.1,fd00::1');
  });

  it.each([
    ['metadata.labelsX', 'field label not supported: metadata.labelsX'],
    ["Xmetadata.labels['a']", "field label not supported: Xmetadata.labels['a']"],
    ["metadata.name['a']", "field label not supported: metadata.name['a']"],
    ['status.phase', 'field label not supported: status.phase'],
    ['', 'field label not supported: '],
  ])('refuses %j', (fieldPath, message) => {
    expect(() => value(fieldPath)).toThrow(new ContainerConfigError(message));
  });

  it('refuses another version of the pod', () => {
    const refused = new ContainerConfigError('unsupported pod version: v2');
    expect(() => value('metadata.name', {}, 'v2')).toThrow(refused);
  });
});
