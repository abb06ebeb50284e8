import { describe, expect, it } from 'vitest';
import { failureReasons, SyncActionError, syncError } from '../../../src/node/pod-workers/sync-action.ts';

const cause = new Error('disk "a" is full');
const failure = new SyncActionError('CreateContainerError', cause.message, { cause });
const created = { action: 'CreatePodSandbox', target: 'p' } as const;
const failed = { action: 'StartContainer', target: 'c', failure } as const;
const other = { ...failed, target: 'd', failure: new SyncActionError('ErrImagePull', 'not found') };

describe('syncError', () => {
  it('is undefined when every action succeeded', () => {
    expect(syncError([])).toBeUndefined();
    expect(syncError([created, created])).toBeUndefined();
  });

  it('of one failure names action, target, reason and message, and keeps the failure', () => {
    const error = syncError([created, failed]);
    expect(error).not.toBeInstanceOf(AggregateError);
    expect(error).toMatchObject({
      message: String.raw`failed to "StartContainer" for "c" with CreateContainerError: "disk \"a\" is full"`,
      cause: failure,
    });
  });

  it('of several failures holds all', () => {
    const error = syncError([failed, created, other]);
    expect(error).toBeInstanceOf(AggregateError);
    expect((error as AggregateError).errors).toHaveLength(2);
    expect(error?.message).toBe(
      String.raw`failed to "StartContainer" for "c" with CreateContainerError: "disk \"a\" is full", ` +
        'failed to "StartContainer" for "d" with ErrImagePull: "not found"',
    );
  });
});

describe('failureReasons', () => {
  it.each<[string, unknown, string[]]>([
    ['one failure', syncError([failed]), ['CreateContainerError']],
    ['several, sorted, each once', syncError([other, failed, other]), ['CreateContainerError', 'ErrImagePull']],
    ['a failure itself', failure, ['CreateContainerError']],
    ['an error of something else', cause, []],
    ['an error because of something else', new Error('e', { cause }), []],
    ['no error', 'text', []],
    ['an object with a failure as its cause', { cause: failure }, []],
  ])('%s', (_case, error, expected) => {
    expect(failureReasons(error)).toEqual(expected);
  });
});
