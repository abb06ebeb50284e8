import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { APIServer } from 'kubelet-status-manager/testing';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});

it.each([
  ['in node:test', 'child-v8', 1],
  ['elsewhere', undefined, 0],
])('a server that is not closed and not used for 30 s says so once %s', async (_, context, count) => {
  vi.stubEnv('NODE_TEST_CONTEXT', context);
  const emitWarning = vi.spyOn(process, 'emitWarning').mockReturnValue();
  await using server = await APIServer.start({ tls: false });
  vi.advanceTimersByTime(20_000);
  await fetch(`${server.url}/healthz`);
  vi.advanceTimersByTime(29_999);
  expect(emitWarning).not.toHaveBeenCalled();
  vi.advanceTimersByTime(60_000);
  expect(emitWarning).toHaveBeenCalledTimes(count);
});

it('a server that was closed or killed says nothing', async () => {
  vi.stubEnv('NODE_TEST_CONTEXT', 'child-v8');
  const emitWarning = vi.spyOn(process, 'emitWarning').mockReturnValue();
  await using server = await APIServer.start({ tls: false });
  await server.kill();
  vi.advanceTimersByTime(60_000);
  expect(emitWarning).not.toHaveBeenCalled();
});
