import { Agent as HTTPAgent } from 'node:http';
import type { AgentOptions } from 'node:https';
import { Agent as HTTPSAgent } from 'node:https';
import { describe, expect, it, vi } from 'vitest';
import type { ConnectionContext } from '../../../src/kube/client/shared-connections.ts';
import { SharedConnections } from '../../../src/kube/client/shared-connections.ts';

/** A request of client-node 1.4 that starts out with `agent`. */
function requestWithAgent(agent: unknown) {
  const context = {
    agent,
    getAgent: () => context.agent,
    setAgent: (replacement: unknown) => void (context.agent = replacement),
  };
  return context;
}

/** What the request of an agent with these options goes out with. */
function agentUsed(connections: SharedConnections, given: unknown): unknown {
  const context = requestWithAgent(given);
  connections.use(context);
  return context.agent;
}

describe('SharedConnections with agents (client-node 1.4)', () => {
  it('gives requests with equal options one agent that keeps connections, with those options', () => {
    const connections = new SharedConnections();
    const options = (): AgentOptions => ({ ca: Buffer.from('ca'), cert: 'c', key: 'k', servername: 's' });
    const used = agentUsed(connections, new HTTPSAgent(options()));
    expect(agentUsed(connections, new HTTPSAgent(options()))).toBe(used);
    expect(used).toBeInstanceOf(HTTPSAgent);
    expect((used as HTTPSAgent).options).toMatchObject({ ...options(), keepAlive: true });
  });

  it.each<AgentOptions>([
    { ca: Buffer.from('other') },
    { ca: Buffer.from('ca'), rejectUnauthorized: false },
    { ca: Buffer.from('ca'), servername: 's' },
    { ca: Buffer.from('ca'), cert: 'c', key: 'k' },
  ])('takes another agent when the options change: %j', (changed) => {
    const connections = new SharedConnections();
    const used = agentUsed(connections, new HTTPSAgent({ ca: Buffer.from('ca') }));
    const next = agentUsed(connections, new HTTPSAgent(changed));
    expect(next).not.toBe(used);
    expect((next as HTTPSAgent).options).toMatchObject(changed);
  });

  it('takes another agent when the protocol changes', () => {
    const connections = new SharedConnections();
    agentUsed(connections, new HTTPSAgent());
    expect(agentUsed(connections, new HTTPAgent())).not.toBeInstanceOf(HTTPSAgent);
  });

  it('leaves agents of other classes, such as proxies, as they are', () => {
    class ProxyAgent extends HTTPSAgent {}
    const proxy = new ProxyAgent();
    expect(agentUsed(new SharedConnections(), proxy)).toBe(proxy);
  });

  it('forgets a dropped agent, but not its successor when it is dropped late', async () => {
    const connections = new SharedConnections();
    const first = connections.use(requestWithAgent(new HTTPSAgent()));
    await connections.drop(first!);
    const second = connections.use(requestWithAgent(new HTTPSAgent()));
    expect(second).not.toBe(first);
    await connections.drop(first!);
    expect(connections.use(requestWithAgent(new HTTPSAgent()))).toBe(second);
  });
});

describe('SharedConnections with dispatchers (client-node 2.x)', () => {
  const newDispatcher = () => ({ close: vi.fn<() => Promise<void>>(async () => {}) });
  const requestWith = (dispatcher: unknown) => ({
    getDispatcher: () => dispatcher,
    setDispatcher: vi.fn<NonNullable<ConnectionContext['setDispatcher']>>(),
  });

  it('shares the first dispatcher until it is dropped, and then closes it', async () => {
    const connections = new SharedConnections();
    const [first, second, third] = [newDispatcher(), newDispatcher(), newDispatcher()];
    const shared = connections.use(requestWith(first));
    const request = requestWith(second);
    expect(connections.use(request)).toBe(shared);
    expect(request.setDispatcher).toHaveBeenCalledWith(first);
    await connections.drop(shared!);
    expect(first.close).toHaveBeenCalledOnce();
    const next = requestWith(third);
    connections.use(next);
    expect(next.setDispatcher).toHaveBeenCalledWith(third);
  });

  it('leaves a request without a dispatcher to the global one', () => {
    const request = requestWith(undefined);
    expect(new SharedConnections().use(request)).toBeUndefined();
    expect(request.setDispatcher).not.toHaveBeenCalled();
  });
});

describe('a pool of undici in place of an agent', () => {
  const connectionOf = (options: AgentOptions) =>
    new SharedConnections().use(requestWithAgent(new HTTPSAgent(options)))!;

  it.each<AgentOptions>([{}, { ca: 'ca' }, { cert: 'c', key: 'k', rejectUnauthorized: false, servername: 's' }])(
    'for the options %j',
    async (options) => {
      const connection = connectionOf(options);
      expect(await connection.pool?.()).toBeDefined();
      await connection.retire();
    },
  );

  it.each<AgentOptions>([{ localAddress: '127.0.0.1' }, { maxSockets: 1 }, { ciphers: 'x' }])(
    'not for %j, which it would ignore',
    (options) => {
      expect(connectionOf(options).pool).toBeUndefined();
    },
  );
});
