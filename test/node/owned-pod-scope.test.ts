import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { FakeClock, recordingLogger, settle } from 'kubelet-status-manager/testing';
import { OwnedPodScope, PodScopes } from '../../src/node/owned-pod-scope.ts';

const pod = { metadata: { name: 'web', namespace: 'ns', uid: 'u' } };
const ended = new Error('the pod has ended on this node');

function start() {
  const clock = new FakeClock();
  const logger = recordingLogger();
  const scope = new OwnedPodScope({ pod, clock, logger });
  const scopes = new PodScopes({ clock, logger });
  return { clock, logger, scope, scopes };
}

/** Work that goes on until it is finished, whatever its signal says. */
function work() {
  let finish = (): void => {};
  const finished = new Promise<void>((resolve) => (finish = resolve));
  let begun: AbortSignal | undefined;
  return {
    finish,
    get signal() {
      return begun;
    },
    run: ({ signal }: { readonly signal: AbortSignal }) => {
      begun = signal;
      return finished;
    },
  };
}

async function isSettled(promise: Promise<unknown>, clock: FakeClock): Promise<boolean> {
  let settled = false;
  const settle_ = (): void => void (settled = true);
  promise.then(settle_, settle_);
  await settle(clock);
  return settled;
}

describe('the scope of a pod', () => {
  it('settles as the work, which has no signal and no timer left behind', async () => {
    const { clock, scope } = start();
    await expect(scope.run('work', { timeoutMs: 1000 }, () => 5)).resolves.toBe(5);
    await expect(scope.run('work', {}, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    await expect(
      scope.run('work', {}, () => {
        throw new Error('now');
      }),
    ).rejects.toThrow('now');
    expect(clock.pendingTimers).toBe(0);
    await scope.close();
  });

  it('lets nothing begin after the end of the pod', async () => {
    const { scope } = start();
    await scope.close();
    const late = work();
    await expect(scope.run('work', {}, late.run)).rejects.toThrow(ended);
    expect(late.signal).toBeUndefined();
  });

  it('aborts what runs at the end of the pod, and waits for it', async () => {
    const { clock, scope } = start();
    const slow = work();
    const running = scope.run('work', {}, slow.run);
    await settle(clock);
    const closed = scope.close();
    await expect(running).rejects.toThrow(ended);
    expect(slow.signal!.reason).toEqual(ended);
    expect(await isSettled(closed, clock)).toBe(false);
    slow.finish();
    await closed;
    expect(clock.pendingTimers).toBe(0);
  });

  it('waits 10 seconds for work that ignores its end, and says so', async () => {
    const { clock, scope, logger } = start();
    void scope.run('work', {}, work().run).catch(() => {});
    await settle(clock);
    const closed = scope.close();
    await clock.advance(9_999);
    expect(await isSettled(closed, clock)).toBe(false);
    await clock.advance(1);
    await closed;
    expect(logger.lines).toMatchObject([
      { level: 'warn', fields: { podUID: 'u', work: 'work' }, message: expect.stringContaining('has not ended') },
    ]);
  });

  it('is left at once when the agent ends: nothing begins, and no timer is left', async () => {
    const { clock, scope } = start();
    const [running, aborted] = [work(), work()];
    const calls = [
      scope.run('work', {}, running.run),
      scope.run('slow', { timeoutMs: 500, inTurnOn: 'a' }, aborted.run),
    ];
    const settled = Promise.allSettled(calls);
    await clock.advance(500);
    scope.stop();
    expect((await settled).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect([running.signal!.aborted, aborted.signal!.aborted, clock.pendingTimers]).toEqual([true, true, 0]);
    await scope.close();
    await expect(scope.run('work', {}, work().run)).rejects.toThrow(ended);
  });

  it('waits at the end of the pod also for work whose caller has given it up', async () => {
    const { clock, scope } = start();
    const [timedOut, aborted] = [work(), work()];
    const abort = new AbortController();
    const calls = [
      scope.run('slow', { timeoutMs: 500 }, timedOut.run),
      scope.run('aborted', { signal: abort.signal }, aborted.run),
    ];
    await settle(clock);
    abort.abort(new Error('superseded'));
    await clock.advance(500);
    await expect(calls[0]).rejects.toThrow('slow took over 500 ms');
    await expect(calls[1]).rejects.toThrow('superseded');
    const closed = scope.close();
    for (const each of [timedOut, aborted]) {
      expect(await isSettled(closed, clock)).toBe(false);
      each.finish();
    }
    await closed;
  });
});

it('a scope keeps no object of its pod, of which newer ones follow', async () => {
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  const begin = (): [OwnedPodScope, WeakRef<object>] => {
    const own = structuredClone(pod);
    const scope = new OwnedPodScope({ pod: own, clock: new FakeClock(), logger: recordingLogger() });
    return [scope, new WeakRef(own)];
  };
  const [scope, own] = begin();
  await new Promise(setImmediate);
  collectGarbage();
  expect(own.deref()).toBeUndefined();
  await scope.close();
});

describe('works that change the same', () => {
  it('run one after the other, although the caller of the first has given it up', async () => {
    const { clock, scope } = start();
    const [first, second, other] = [work(), work(), work()];
    const gaveUp = scope.run('mount', { timeoutMs: 1000, inTurnOn: 'a' }, first.run);
    const retried = scope.run('mount', { inTurnOn: 'a' }, second.run);
    void scope.run('mount', { inTurnOn: 'b' }, other.run);
    await settle(clock);
    expect(other.signal).toBeDefined();
    await clock.advance(1000);
    await expect(gaveUp).rejects.toThrow('mount took over 1000 ms');
    await settle(clock);
    expect(second.signal).toBeUndefined();
    first.finish();
    second.finish();
    await retried;
    expect(second.signal).toBeDefined();
    other.finish();
  });

  it('do not wait for more than 10 seconds for one that ignores its end', async () => {
    const { clock, scope } = start();
    const second = work();
    void scope.run('mount', { timeoutMs: 1000, inTurnOn: 'a' }, work().run).catch(() => {});
    void scope.run('mount', { inTurnOn: 'a' }, second.run);
    await clock.advance(1000);
    await clock.advance(9_999);
    await settle(clock);
    expect(second.signal).toBeUndefined();
    await clock.advance(1);
    await settle(clock);
    expect(second.signal).toBeDefined();
    second.finish();
  });

  it('do not run if they are given up before their turn, and those behind keep their order', async () => {
    const { clock, scope } = start();
    const [first, second, third] = [work(), work(), work()];
    const abort = new AbortController();
    void scope.run('mount', { inTurnOn: 'a' }, first.run);
    const gaveUp = scope.run('mount', { inTurnOn: 'a', signal: abort.signal }, second.run);
    void scope.run('mount', { inTurnOn: 'a' }, third.run);
    abort.abort(new Error('superseded'));
    await expect(gaveUp).rejects.toThrow('superseded');
    await settle(clock);
    await clock.advance(20_000);
    await settle(clock);
    expect(third.signal).toBeUndefined();
    first.finish();
    await settle(clock);
    expect([second.signal, third.signal?.aborted]).toEqual([undefined, false]);
    third.finish();
  });
});

describe('the scopes of an owner', () => {
  it('are one for a pod from its begin to its end, and none before and after', async () => {
    const { scopes } = start();
    expect(scopes.get(pod)).toBeUndefined();
    const scope = scopes.open(pod);
    expect([scopes.open(pod), scopes.get(pod)]).toEqual([scope, scope]);
    expect(scopes.get({ metadata: { uid: 'other' } })).toBeUndefined();
    await scopes.close(pod, {}, async () => expect(scopes.get(pod)).toBeUndefined());
    expect([scope.signal.aborted, scopes.get(pod)]).toEqual([true, undefined]);
  });

  it('end before the pod is cleaned up, and a new one begins after that', async () => {
    const { clock, scopes } = start();
    const [mount, cleanUp, remount] = [work(), work(), work()];
    void scopes
      .open(pod)
      .run('mount', {}, mount.run)
      .catch(() => {});
    await settle(clock);
    const closed = scopes.close(pod, {}, cleanUp.run);
    await settle(clock);
    expect(cleanUp.signal).toBeUndefined();
    mount.finish();
    await settle(clock);
    expect(cleanUp.signal?.aborted).toBe(false);
    const remounted = scopes.open(pod).run('mount', {}, remount.run);
    await expect(closed).rejects.toThrow(ended);
    await settle(clock);
    expect(remount.signal).toBeUndefined();
    cleanUp.finish();
    remount.finish();
    await remounted;
    expect(scopes.get(pod)?.signal.aborted).toBe(false);
  });

  it('are cleaned up one after the other, also a pod that has never begun', async () => {
    const { clock, scopes } = start();
    const [first, second] = [work(), work()];
    const abort = new AbortController();
    const gaveUp = scopes.close(pod, { signal: abort.signal }, first.run);
    await settle(clock);
    abort.abort(new Error('too slow'));
    await expect(gaveUp).rejects.toThrow('too slow');
    const again = scopes.close(pod, {}, second.run);
    await settle(clock);
    expect(second.signal).toBeUndefined();
    first.finish();
    second.finish();
    await again;
    expect(scopes.get(pod)).toBeUndefined();
  });
});
