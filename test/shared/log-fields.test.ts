import { describe, expect, it } from 'vitest';
import { podFields, statusFields } from '../../src/shared/log-fields.ts';

const pod = { podNamespace: 'default', podName: 'web' };

describe('the fields of a log line', () => {
  it('name the pod, and the version of its status', () => {
    expect(podFields('uid', pod)).toEqual({ pod: 'default/web', podUID: 'uid' });
    expect(statusFields('uid', { ...pod, version: 3 })).toEqual({
      pod: 'default/web',
      podUID: 'uid',
      statusVersion: 3,
    });
  });
});
