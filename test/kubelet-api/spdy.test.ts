import { Duplex } from 'node:stream';
import { constants, deflateSync } from 'node:zlib';
import * as fc from 'fast-check';
import { expect, it, vi } from 'vitest';
import { headerDictionary, serveSPDY } from '../../src/kubelet-api/spdy.ts';
import { uint32 } from './spdy-client.ts';

const headers = Buffer.concat([uint32(1), uint32(4), Buffer.from('port'), uint32(2), Buffer.from('80')]);
const block = deflateSync(headers, { dictionary: headerDictionary, finishFlush: constants.Z_SYNC_FLUSH });

const id = fc.integer({ min: 0, max: 3 }).map(uint32);
const flags = fc.constantFrom(0, 0, 0, 1);
const bytes = (maxLength: number) => fc.uint8Array({ maxLength }).map((list) => Buffer.from(list));
const control = (type: number, flag: number, payload: Buffer): Buffer =>
  Buffer.concat([uint32(0x8003_0000 + type), uint32(flag * 0x100_0000 + payload.length), payload]);
const frame = fc.oneof(
  fc.tuple(id, flags).map(([stream, flag]) => control(1, flag, Buffer.concat([stream, Buffer.alloc(6), block]))),
  fc
    .tuple(id, flags, bytes(200))
    .map(([stream, flag, data]) => Buffer.concat([stream, uint32(flag * 0x100_0000 + data.length), data])),
  fc.tuple(fc.integer({ min: 0, max: 10 }), flags, bytes(12)).map(([type, flag, data]) => control(type, flag, data)),
  bytes(30),
);

it('a connection ends with its client, and all streams with it, whatever the client sends', async () => {
  const property = fc.asyncProperty(fc.array(frame, { maxLength: 20 }), fc.boolean(), async (frames, isReset) => {
    const streams: Duplex[] = [];
    const connection = new Duplex({ read: () => {}, write: (_chunk, _encoding, done) => done() });
    const served = serveSPDY(connection, (_headers, stream) => void streams.push(stream));
    for (const sent of frames) connection.push(sent);
    if (isReset) setImmediate(() => connection.destroy());
    else connection.push(null);
    await served;
    expect(streams.filter(({ destroyed }) => !destroyed)).toEqual([]);
  });
  await fc.assert(property, { numRuns: 500 });
});

const ping = control(6, 0, uint32(1));
const tooMany = 10_000;

it('a client that sends pings and does not read is no longer read: its replies take little memory', async () => {
  const connection = new Duplex({ read: () => {}, write: () => {} });
  const served = serveSPDY(connection, () => {});
  for (let i = 0; i < tooMany; i += 1) connection.push(ping);
  await vi.waitFor(() => expect(connection.writableLength).toBeGreaterThan(20_000));
  await new Promise(setImmediate);
  expect(connection.writableLength).toBeLessThan(30_000);
  connection.destroy();
  await served;
});

it('a client that reads may send any number of pings', async () => {
  let count = 0;
  const connection = new Duplex({
    read: () => {},
    write: (chunk: Buffer, _encoding, done) => {
      count += chunk.readUInt16BE(2) === 6 ? 1 : 0;
      done();
    },
  });
  const served = serveSPDY(connection, () => {});
  for (let i = 0; i < tooMany; i += 1) connection.push(ping);
  connection.push(null);
  await served;
  expect(count).toBe(tooMany);
});
