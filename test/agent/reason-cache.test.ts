import { describe, expect, it } from 'vitest';
import { ReasonCache } from '../../src/agent/status/reason-cache.ts';

const failure = { reason: 'ImagePullBackOff', message: 'Back-off pulling image "app:1"' };

describe('TestReasonCache', () => {
  it('has the last failure of a container until a start succeeds', () => {
    const cache = new ReasonCache();
    cache.update('uid', 'app', failure);
    cache.update('uid', 'app', { reason: 'ErrImagePull' });
    expect(cache.ofPod('uid').get('app')).toEqual({ reason: 'ErrImagePull' });
    expect(cache.ofPod('uid').get('other')).toBeUndefined();
    expect(cache.ofPod('other').get('app')).toBeUndefined();
    cache.update('uid', 'app', undefined);
    expect(cache.ofPod('uid').get('app')).toBeUndefined();
  });

  it('the failures of a pod reflect later records', () => {
    const cache = new ReasonCache();
    const ofPod = cache.ofPod('uid');
    cache.update('uid', 'app', failure);
    expect(ofPod.get('app')).toEqual(failure);
  });

  it('keeps 1,000 entries, and evicts the least recently used one', () => {
    const cache = new ReasonCache();
    for (let i = 0; i < 1000; i++) cache.update(`uid-${i}`, 'app', failure);
    expect(cache.ofPod('uid-0').get('app')).toEqual(failure);
    cache.update('uid-1000', 'app', failure);
    expect(cache.ofPod('uid-0').get('app')).toEqual(failure);
    expect(cache.ofPod('uid-1').get('app')).toBeUndefined();
    expect(cache.ofPod('uid-2').get('app')).toEqual(failure);
  });
});
