import { describe, expect, it } from 'vitest';
import type { ClientLimiter } from '../../../src/status-manager/sync/client-limiter.ts';
import { PodSync } from '../../../src/status-manager/sync/pod-sync.ts';
import { RequestLimiter } from '../../../src/status-manager/sync/request-limiter.ts';
import { FakeClock } from '../../../src/testing/fake-clock.ts';

const never = new AbortController().signal;

/** The permits of one sync. */
class Permits {
  readonly #limiter: ClientLimiter;
  readonly #sync: PodSync;

  constructor(limiter: ClientLimiter, signal = never) {
    this.#limiter = limiter;
    this.#sync = new PodSync('uid', signal, true, new FakeClock(), () => {});
  }

  acquire(): Promise<void> {
    return this.#limiter.acquire(this.#sync);
  }

  release(): void {
    this.#limiter.release(this.#sync);
  }
}

function setUp(options: ConstructorParameters<typeof RequestLimiter>[0] = {}) {
  const clock = new FakeClock();
  const limiter = new RequestLimiter({ clock, ...options });
  return { clock, limiter, client: limiter.forClient({}) };
}

describe('RequestLimiter', () => {
  it('lets everything through immediately without a limit', async () => {
    const { clock, client } = setUp();
    for (let i = 0; i < 1_000; i++) await new Permits(client).acquire();
    expect(clock.pendingTimers).toBe(0);
  });

  it('shares the token bucket between clients; its burst is qps rounded up by default', async () => {
    const { clock, limiter, client } = setUp({ qps: 1.5 });
    const through: string[] = [];
    for (const name of ['a', 'b']) {
      const other = limiter.forClient({});
      void new Permits(other).acquire().then(() => void through.push(`${name} at ${clock.monotonicMs()}`));
    }
    void new Permits(client).acquire().then(() => void through.push(`c at ${clock.monotonicMs()}`));
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
    await new Permits(other).acquire();
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
    for (let i = 0; i < 2; i++) void new Permits(client).acquire().then(() => passed++);
    await clock.advanceAsync(4_000);
    client.onThrottled('b', 3_000);
    // The token is there for another client.
    await new Permits(limiter.forClient({})).acquire();
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
    const held = new Permits(client);
    await held.acquire();
    await held.acquire();
    client.onThrottled('a');
    client.onThrottled('b');
    const resumed = held.acquire();
    const other = new Permits(limiter.forClient({}));
    await other.acquire();
    await clock.advanceAsync(1_000);
    other.release();
    await resumed;
    const events: string[] = [];
    const next = new Permits(limiter.forClient({}));
    const waiting = next.acquire().then(() => events.push('acquired'));
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
    const waiting = new Permits(client, controller.signal).acquire();
    controller.abort();
    await expect(waiting).rejects.toBe(controller.signal.reason);
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
