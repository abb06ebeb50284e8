import { describe, expect, it } from 'vitest';
import { RequestLimiter } from '../../../src/status-manager/sync/request-limiter.ts';
import { FakeClock } from '../../../src/testing/fake-clock.ts';

const never = new AbortController().signal;

function setUp(options: ConstructorParameters<typeof RequestLimiter>[0] = {}) {
  const clock = new FakeClock();
  const limiter = new RequestLimiter({ clock, ...options });
  return { clock, limiter, client: limiter.forClient({}) };
}

describe('RequestLimiter', () => {
  it('lets everything through immediately without a limit', async () => {
    const { clock, client } = setUp();
    for (let i = 0; i < 1_000; i++) await client.admission().acquire(never);
    expect(clock.pendingTimers).toBe(0);
  });

  it('shares the token bucket between clients; its burst is qps rounded up by default', async () => {
    const { clock, limiter, client } = setUp({ qps: 1.5 });
    const through: string[] = [];
    for (const name of ['a', 'b']) {
      const other = limiter.forClient({});
      void other
        .admission()
        .acquire(never)
        .then(() => void through.push(`${name} at ${clock.monotonicMs()}`));
    }
    void client
      .admission()
      .acquire(never)
      .then(() => void through.push(`c at ${clock.monotonicMs()}`));
    await clock.advanceAsync(1_000);
    expect(through).toEqual(['a at 0', 'b at 0', 'c at 667']);
  });

  it('the Retry-After of one pod held up every pod of every manager: only a second pod that is refused pauses, and only its client', async () => {
    const { limiter, client } = setUp({});
    const other = limiter.forClient({});
    client.onThrottled('a', 30_000);
    client.onThrottled('a', 30_000);
    expect(client.pauseMs).toBe(0);
    client.onThrottled('b', 5_000);
    expect([client.pauseMs, other.pauseMs]).toEqual([5_000, 0]);
    await other.admission().acquire(never);
  });

  it('a write between two refusals shows that the API server serves this client', () => {
    const { client } = setUp();
    client.onThrottled('a', 30_000);
    client.onWritten();
    client.onThrottled('b', 30_000);
    expect(client.isPaused).toBe(false);
    client.onThrottled('c');
    expect(client.pauseMs).toBe(1_000);
  });

  it('a longer pause stays, and none is longer than a minute', () => {
    const { client } = setUp();
    client.onThrottled('a');
    client.onThrottled('b', 300_000);
    client.onThrottled('c', 1_000);
    expect(client.pauseMs).toBe(60_000);
  });

  it('waits until the pause is over, also when it becomes longer, and takes no token before', async () => {
    const { clock, limiter, client } = setUp({ qps: 1, burst: 1 });
    client.onThrottled('a');
    client.onThrottled('b', 5_000);
    let passed = 0;
    for (let i = 0; i < 2; i++)
      void client
        .admission()
        .acquire(never)
        .then(() => passed++);
    await clock.advanceAsync(4_000);
    client.onThrottled('b', 3_000);
    // The token is there for another client.
    await limiter.forClient({}).admission().acquire(never);
    await clock.advanceAsync(2_999);
    expect(passed).toBe(0);
    await clock.advanceAsync(1);
    expect(passed).toBe(1);
    await clock.advanceAsync(1_000);
    expect(passed).toBe(2);
    expect(clock.pendingTimers).toBe(0);
  });

  it('a sync keeps its slot until it ends, and leaves it to others during a pause', async () => {
    const { clock, limiter, client } = setUp({ maxInFlight: 1 });
    const held = client.admission();
    await held.acquire(never);
    await held.acquire(never);
    client.onThrottled('a');
    client.onThrottled('b');
    const resumed = held.acquire(never);
    const other = limiter.forClient({}).admission();
    await other.acquire(never);
    await clock.advanceAsync(1_000);
    other.release();
    await resumed;
    const events: string[] = [];
    const next = limiter.forClient({}).admission();
    const waiting = next.acquire(never).then(() => events.push('acquired'));
    await clock.yieldToEventLoop();
    events.push('released');
    held.release();
    await waiting;
    expect(events).toEqual(['released', 'acquired']);
  });

  it('ends a wait for the pause when the signal aborts', async () => {
    const { clock, client } = setUp();
    client.onThrottled('a');
    client.onThrottled('b');
    const controller = new AbortController();
    const waiting = client.admission().acquire(controller.signal);
    controller.abort();
    await expect(waiting).rejects.toMatchObject({ kind: 'aborted' });
    expect(clock.pendingTimers).toBe(0);
  });

  it('has one state for each client', () => {
    const key = {};
    const { limiter } = setUp();
    expect(limiter.forClient(key)).toBe(limiter.forClient(key));
    expect(limiter.forClient(key)).not.toBe(limiter.forClient({}));
  });

  it.each([
    { qps: 0 },
    { qps: -1 },
    { qps: Number.NaN },
    { qps: 1, burst: 0 },
    { qps: '5' as unknown as number },
    { maxInFlight: 0 },
    { maxInFlight: 1.5 },
  ])('refuses %j', (options) => {
    expect(() => new RequestLimiter(options)).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }));
  });
});
