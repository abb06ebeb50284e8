import { describe, expect, it } from 'vitest';
import { resourceFieldValue } from '../../../src/node/container-options/resource-field-value.ts';
import { ContainerConfigError } from '../../../src/node/runtime/container-runtime.ts';

const allocatable = {
  ...{ cpu: '4', memory: '8Gi', 'ephemeral-storage': '10Gi' },
  'hugepages-2Mi': '100Mi',
};
const app = {
  name: 'app',
  resources: {
    requests: { cpu: '250m', memory: '1025', 'ephemeral-storage': '1500', 'hugepages-2Mi': '2Mi' },
    limits: { cpu: '1500m', memory: '64Mi', 'ephemeral-storage': '2Gi', 'hugepages-2Mi': '4Mi' },
  },
};
const plain = { name: 'plain' };

function value(
  selector: { readonly resource: string; readonly divisor?: string; readonly containerName?: string },
  { container = app, ...spec }: { readonly container?: object | undefined; readonly [field: string]: unknown } = {},
  node: object = allocatable,
): string {
  const pod = { spec: { containers: [app, plain], initContainers: [{ name: 'init' }], ...spec } };
  return resourceFieldValue(selector, pod, container as { name: string }, node as Record<string, string>);
}

describe('TestExtractContainerResourceValue: resourceFieldValue', () => {
  it.each([
    ['requests.cpu', '1m', '250'],
    ['requests.cpu', undefined, '1'],
    ['requests.cpu', '0', '1'],
    ['limits.cpu', '1', '2'],
    ['limits.cpu', '500m', '3'],
    ['requests.memory', undefined, '1025'],
    ['requests.memory', '1Ki', '2'],
    ['limits.memory', '1Mi', '64'],
    ['requests.ephemeral-storage', '1k', '2'],
    ['limits.ephemeral-storage', '1Gi', '2'],
    ['requests.hugepages-2Mi', '1Mi', '2'],
    ['limits.hugepages-2Mi', undefined, '4194304'],
  ])('%s with divisor %s is %s, rounded up', (resource, divisor, expected) => {
    expect(value({ resource, ...(divisor !== undefined && { divisor }) })).toBe(expected);
  });

  it.each([
    ['cpu in thousandths', 'limits.cpu', '1m', { limits: { cpu: '1n' } }, '1'],
    ['memory in bytes', 'limits.memory', '1', { limits: { memory: '1m' } }, '1'],
    ['a divisor, too', 'limits.memory', '1m', { limits: { memory: '10' } }, '10'],
  ])('rounds up %s', (_name, resource, divisor, resources, expected) => {
    expect(value({ resource, divisor }, { container: { name: 'app', resources } })).toBe(expected);
  });

  it.each([
    ['of another container', { containerName: 'app' }, '64'],
    ['of a container without one, those of the node', { containerName: 'plain' }, '8192'],
    ['of an init container without one, which has no default', { containerName: 'init' }, '0'],
  ])('a limit %s', (_name, selector, expected) => {
    expect(value({ ...selector, resource: 'limits.memory', divisor: '1Mi' }, { container: plain })).toBe(expected);
  });

  it('an init container that asks for its own limit has that of the node, if it has none', () => {
    expect(value({ resource: 'limits.memory', divisor: '1Gi' }, { container: { name: 'init' } })).toBe('8');
  });

  it.each(['cpu', 'memory', 'ephemeral-storage', 'hugepages-2Mi'])('a request of %s has no default', (name) => {
    expect(value({ resource: `requests.${name}` }, { container: plain })).toBe('0');
  });

  it('a limit of huge pages has no default', () => {
    expect(value({ resource: 'limits.hugepages-2Mi' }, { container: plain })).toBe('0');
  });

  it('a default is unknown where the node does not know it', () => {
    const resources = { limits: { memory: '2Gi' } };
    expect(value({ resource: 'limits.memory' }, { container: plain }, {})).toBe('0');
    expect(value({ resource: 'limits.memory' }, { container: plain, resources }, {})).toBe('0');
  });

  it('is 0 for a container without resources of a pod without a spec', () => {
    expect(resourceFieldValue({ resource: 'limits.cpu' }, {}, plain, {})).toBe('0');
    expect(resourceFieldValue({ resource: 'limits.cpu' }, {}, plain, { cpu: '3' })).toBe('3');
  });
});

describe('TestDefaultPodLimitsForDownwardAPI: a limit that the container does not set', () => {
  const resources = { limits: { cpu: '500m', memory: '2Gi', 'ephemeral-storage': '1Gi' } };
  it.each([
    ['limits.cpu', '1m', '500'],
    ['limits.memory', '1Gi', '2'],
    // A pod cannot limit it.
    ['limits.ephemeral-storage', '1Gi', '10'],
  ])('%s is that of the pod, if the pod can set it', (resource, divisor, expected) => {
    expect(value({ resource, divisor }, { container: plain, resources })).toBe(expected);
  });

  it('is that of the node, if the pod limits something else', () => {
    expect(value({ resource: 'limits.cpu' }, { container: plain, resources: { limits: { memory: '2Gi' } } })).toBe('4');
  });
});

it.each([
  ['limits.gpu', 'unsupported container resource : limits.gpu'],
  ['cpu', 'unsupported container resource : cpu'],
  ['xlimits.cpu', 'unsupported container resource : xlimits.cpu'],
  ['limits.cpux', 'unsupported container resource : limits.cpux'],
  ['limits.hugepages-', 'unsupported container resource : limits.hugepages-'],
])('refuses the resource %s', (resource, message) => {
  expect(() => value({ resource })).toThrow(new ContainerConfigError(message));
});

it('refuses a container that the pod does not have', () => {
  const refused = new ContainerConfigError('container gone not found');
  expect(() => value({ containerName: 'gone', resource: 'limits.cpu' })).toThrow(refused);
  // A volume has no container of its own.
  expect(() => resourceFieldValue({ resource: 'limits.cpu' }, {}, undefined, {})).toThrow(
    new ContainerConfigError('container  not found'),
  );
});
