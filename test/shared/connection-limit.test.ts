import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { FakeClock, silentLogger } from 'kubelet-status-manager/testing';
import { expect, it, onTestFinished } from 'vitest';
import { ConnectionLimit } from '../../src/shared/connection-limit.ts';

it('connections that do not count are bounded, too, and each that ends makes room', async () => {
  const server = createServer();
  const limit = new ConnectionLimit(server, {
    ...{ maxConnections: 10, maxExempt: 2 },
    ...{ clock: new FakeClock(), logger: silentLogger },
  });
  onTestFinished(() => limit.closeServer());
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const accepted: Socket[] = [];
  for (let i = 0; i < 3; i += 1) {
    connect(port, '127.0.0.1').on('error', () => {});
    const [socket] = (await once(server, 'connection')) as [Socket];
    accepted.push(socket);
  }
  const exempt = (): boolean[] => accepted.map((socket) => limit.exempt(socket));
  expect(exempt()).toEqual([true, true, false]);
  // One that does not count already stays so.
  expect(exempt()).toEqual([true, true, false]);
  limit.use(accepted[0]!);
  expect(limit.exempt(accepted[2]!)).toBe(true);
});
