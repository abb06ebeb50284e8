import { EventEmitter } from 'node:events';
import { expect, it } from 'vitest';
import { FakeClock, recordingLogger } from 'kubelet-status-manager/testing';
import type { CRIClient } from '../../src/cri/cri-client.ts';
import { RuntimeEvents } from '../../src/cri/runtime-events.ts';

class Stream extends EventEmitter {
  cancel(): void {}
}

it('events that the runtime refuses are logged after 10 s with the reason, and when they are there again', async () => {
  const streams: Stream[] = [];
  const connect = (): Stream => {
    const stream = new Stream();
    streams.push(stream);
    return stream;
  };
  const clock = new FakeClock();
  const logger = recordingLogger();
  const events = new RuntimeEvents({
    client: { getContainerEvents: connect, stream: connect } as object as CRIClient,
    clock,
    logger,
    ownerOf: () => undefined,
    hasEnded: async () => true,
    onEvent: () => {},
  });
  for (let i = 0; i <= 10; i++) {
    streams.at(-1)!.emit('error', new Error('invalid filter'));
    expect(logger.lines.length, `after ${i} s`).toBe(i < 10 ? 0 : 1);
    clock.advance(1000);
  }
  streams.at(-1)!.emit('data', { container_id: 'c', container_event_type: 'CONTAINER_STOPPED_EVENT' });
  expect(logger.lines).toMatchObject([
    {
      level: 'warn',
      message: 'Watching events of the runtime failed',
      fields: { reason: 'invalid filter', failures: 11 },
    },
    { level: 'warn', message: 'Watching events of the runtime succeeded again' },
  ]);
  events.stop();
});
