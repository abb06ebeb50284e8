import { describe, expect, it } from 'vitest';
import { changedPaths } from './changed-paths.ts';

const pod = (status: object) => ({ metadata: { resourceVersion: '1' }, status: { phase: 'Running', ...status } });

describe('changedPaths', () => {
  it('names each path that changed, with IDs and times', () => {
    const status = (id: string) => ({ containerStatuses: [{ name: 'app', containerID: id.repeat(64) }] });
    expect(changedPaths({}, 'agent', pod(status('a')), [pod(status('a')), pod(status('b'))])).toEqual([
      { path: 'containerStatuses[app].containerID', kubelet: 'a'.repeat(64), agent: 'b'.repeat(64) },
    ]);
  });

  it('leaves out what the shapes mask and declare', () => {
    const theirs = { resources: { limits: { memory: '9007199254740988Ki' } } };
    expect(changedPaths({}, 'agent', pod(theirs), [pod({ resources: {} })])).toEqual([]);
    const requests = { resources: { requests: { cpu: '1' } } };
    expect(changedPaths({}, 'agent', pod({}), [pod(requests)])).toEqual([]);
  });

  it('leaves out what a pod expects of either agent, or of the kubelet alone', () => {
    const expected = { changes: /^reason$/, changesByKubelet: /^message$/ };
    const paths = (to: 'agent' | 'kubelet') =>
      changedPaths(expected, to, pod({}), [pod({ reason: 'R', message: 'M' })]).map(({ path }) => path);
    expect(paths('agent')).toEqual(['message']);
    expect(paths('kubelet')).toEqual([]);
  });
});
