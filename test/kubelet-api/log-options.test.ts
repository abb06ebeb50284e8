import { describe, expect, it } from 'vitest';
import { parseLogOptions } from '../../src/kubelet-api/serve-container-logs.ts';

const nowMs = Date.parse('2026-01-02T03:04:05Z');
const parse = (query: string): ReturnType<typeof parseLogOptions> => parseLogOptions(new URLSearchParams(query), nowMs);

describe('parseLogOptions', () => {
  it('without a query, is the whole log of both streams', () => {
    expect(parse('')).toEqual({
      ...{ tailLines: undefined, limitBytes: undefined, sinceMs: undefined, stream: undefined },
      ...{ follow: false, timestamps: false, previous: false },
    });
  });

  it.each([
    ['tailLines=0', { tailLines: 0 }],
    ['tailLines=', { tailLines: undefined }],
    ['tailLines=%2B5', { tailLines: 5 }],
    ['tail=3&tailLines=7', { tailLines: 3 }],
    ['limitBytes=1', { limitBytes: 1 }],
    ['sinceSeconds=1', { sinceMs: nowMs - 1000 }],
    ['sinceTime=2026-01-02T03:04:01Z', { sinceMs: nowMs - 4000 }],
    ['sinceTime=', { sinceMs: undefined }],
    ['stream=', { stream: undefined }],
    ['stream=All&tailLines=1', { stream: undefined, tailLines: 1 }],
    ['stream=Stdout', { stream: 'stdout' }],
    ['stream=Stderr', { stream: 'stderr' }],
    // As apimachinery reads booleans.
    ['follow=true', { follow: true }],
    ['follow', { follow: true }],
    ['follow=1', { follow: true }],
    ['follow=0', { follow: false }],
    ['follow=FALSE', { follow: false }],
    ['timestamps=true&previous=true', { timestamps: true, previous: true, follow: false }],
  ])('%s', (query, expected) => {
    expect(parse(query)).toMatchObject(expected);
  });

  it.each([
    ['tailLines=1x', 400],
    ['tailLines=1.5', 400],
    ['tailLines=1234567890123456', 400],
    ['limitBytes=x1', 400],
    ['sinceTime=2026-01-02', 400],
    ['tailLines=-1', 422],
    ['limitBytes=-1', 422],
    ['sinceSeconds=-1', 422],
    ['stream=stdout', 422],
    ['stream=Stderr&tailLines=0', 422],
  ])('refuses %s with %i', (query, statusCode) => {
    expect(() => parse(query)).toThrow(expect.objectContaining({ statusCode }) as Error);
  });
});
