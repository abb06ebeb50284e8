import { expect, it } from 'vitest';
import { readWatchEvents } from '../../../src/kube/informer/watch-events.ts';

it('a deeply nested event is refused before it is parsed', async () => {
  async function* body(): AsyncGenerator<Uint8Array> {
    yield Buffer.from(`{"type":"ADDED","object":{"x":${'['.repeat(50_000)}${']'.repeat(50_000)}}}\n`);
  }
  await expect(readWatchEvents(body()).next()).rejects.toMatchObject({ kind: 'invalid-response' });
});
