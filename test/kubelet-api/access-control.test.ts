import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { Agent } from 'node:https';
import { describe, expect, it } from 'vitest';
import { certificateFile, otherCertificate, TestServer } from './test-server.ts';
import { linesAtInfo } from '../support/log-lines.ts';

describe('the kubelet API is closed by default', () => {
  it.each([
    ['without credentials', {}],
    ['with an unknown token', { token: 'unknown' }],
    ['with Basic credentials', { headers: { authorization: 'Basic YWRtaW46YWRtaW4=' } }],
    ['with a client certificate, without a client CA', { certificate: 'client-a' }],
  ])('%s, every request gets 401', async (_name, credentials) => {
    await using server = await TestServer.start({ authentication: { clientCAFile: undefined } });
    for (const path of ['/healthz', '/pods', '/exec/default/web/app', '/unknown'])
      expect(await server.get(path, { token: undefined as never, ...credentials })).toMatchObject({
        status: 401,
        text: 'Unauthorized',
      });
    expect(server.reviews.of('SubjectAccessReview')).toEqual([]);
  });

  it('a user without permission gets 403', async () => {
    await using server = await TestServer.start();
    server.reviews.tokens.set('other', { username: 'other' });
    const { status, text } = await server.get('/pods', { token: 'other' });
    expect([status, text]).toEqual([
      403,
      'Forbidden (user=other, verb=get, resource=nodes, subresource(s)=[pods proxy])\n',
    ]);
    expect(server.logger.lines).toContainEqual({
      level: 'debug',
      message: 'A request to the kubelet API is forbidden',
      fields: { user: 'other', verb: 'get', subresources: ['pods', 'proxy'] },
    });
  });

  it('a user with permission for one of the subresources is admitted', async () => {
    await using server = await TestServer.start();
    server.reviews.tokens.set('monitor', { username: 'monitor', uid: '7', groups: ['g'], extra: { scope: ['a'] } });
    server.reviews.allows = ({ resourceAttributes }) =>
      (resourceAttributes as unknown as { subresource: string }).subresource === 'proxy';
    expect(await server.get('/pods', { token: 'monitor' })).toMatchObject({ status: 200 });
    const attributes = { verb: 'get', version: 'v1', resource: 'nodes', name: 'node-a' };
    const user = { user: 'monitor', uid: '7', groups: ['g', 'system:authenticated'], extra: { scope: ['a'] } };
    expect(server.reviews.of('SubjectAccessReview')).toEqual([
      { ...user, resourceAttributes: { ...attributes, subresource: 'pods' } },
      { ...user, resourceAttributes: { ...attributes, subresource: 'proxy' } },
    ]);
  });

  it.each(['//pods', '/pods/../exec', '/%70ods', '/stats%2fsummary', '/./healthz'])(
    'no other form of a path is served: %s',
    async (path) => {
      await using server = await TestServer.start();
      expect((await server.get(path)).status).toBe(404);
    },
  );
});

it('a token is reviewed again after two minutes, a permission after five, a refusal after 30 s', async () => {
  await using server = await TestServer.start();
  const counts = (): number[] => ['TokenReview', 'SubjectAccessReview'].map((kind) => server.reviews.of(kind).length);
  await Promise.all([server.get('/stats/'), server.get('/stats/')]);
  server.clock.advance(119_000);
  await server.get('/stats/');
  expect(counts()).toEqual([1, 1]);
  server.clock.advance(2000);
  await server.get('/stats/');
  expect(counts()).toEqual([2, 1]);
  server.clock.advance(200_000);
  server.reviews.allows = () => false;
  expect((await server.get('/stats/')).status).toBe(403);
  expect(counts()).toEqual([3, 2]);
  server.reviews.allows = () => true;
  server.clock.advance(29_000);
  expect((await server.get('/stats/')).status).toBe(403);
  server.clock.advance(2000);
  expect((await server.get('/stats/')).status).toBe(404);
});

it('while the API server does not respond, requests are refused, and the log says so once', async () => {
  await using server = await TestServer.start();
  server.reviews.failure = new Error('connect ECONNREFUSED');
  for (let i = 0; i < 3; i++) expect((await server.get('/pods')).status).toBe(401);
  expect(server.logger.warnings).toMatchObject([
    { message: 'Reviewing a token for the kubelet API failed', fields: { reason: 'connect ECONNREFUSED' } },
  ]);
  server.reviews.failure = undefined;
  expect((await server.get('/stats/')).status).toBe(404);

  server.reviews.failure = new Error('connect ECONNREFUSED');
  for (let i = 0; i < 3; i++)
    expect(await server.get('/pods')).toMatchObject({
      status: 500,
      text: 'Authorization error (user=admin, verb=get, resource=nodes, subresource=pods)',
    });
  const messages = linesAtInfo(server.logger)
    .slice(1)
    .map(({ message }) => message);
  expect(messages).toEqual([
    'Reviewing a token for the kubelet API failed',
    'Reviewing a token for the kubelet API succeeded again',
    'Reviewing access to the kubelet API failed',
  ]);
});

it('while the API server does not respond, a client that an earlier review admits is not a recovery', async () => {
  await using server = await TestServer.start();
  await server.get('/stats/');
  server.reviews.failure = new Error('connect ECONNREFUSED');
  for (let i = 0; i < 3; i++) {
    expect((await server.get('/stats/')).status).toBe(404);
    expect((await server.get('/stats/', { token: 'other' })).status).toBe(401);
    expect((await server.get('/pods')).status).toBe(500);
  }
  expect(server.logger.warnings.map(({ message }) => message)).toEqual([
    'Reviewing a token for the kubelet API failed',
    'Reviewing access to the kubelet API failed',
  ]);
});

it('no log entry contains a token', async () => {
  await using server = await TestServer.start();
  server.reviews.tokens.set('secret-1', { username: 'other' });
  await server.get('/pods', { token: 'secret-1' });
  await server.get('/pods', { token: 'secret-2' });
  server.reviews.failure = new Error('failed');
  await server.get('/pods', { token: 'secret-3' });
  expect(server.logger.lines.length).toBeGreaterThan(0);
  expect(JSON.stringify(server.logger.lines)).not.toContain('secret-');
});

describe('client certificates', () => {
  const authentication = { clientCAFile: certificateFile('ca') };

  it('the subject of a certificate that the client CA has signed is the user', async () => {
    await using server = await TestServer.start({ authentication });
    server.reviews.allows = ({ user }) => user === ('client-a' as never);
    expect((await server.get('/pods', { token: undefined as never, certificate: 'client-a' })).status).toBe(200);
    expect(server.reviews.of('TokenReview')).toEqual([]);
    expect(server.reviews.of('SubjectAccessReview')[0]).toMatchObject({
      user: 'client-a',
      groups: ['system:nodes', 'system:authenticated'],
      extra: { 'authentication.kubernetes.io/credential-id': [expect.stringMatching(/^X509SHA256=[0-9a-f]{64}$/)] },
    });
  });

  it('a certificate of another CA is refused, even if anonymous requests are accepted', async () => {
    await using server = await TestServer.start({ authentication: { ...authentication, anonymous: true } });
    server.reviews.allows = () => true;
    expect((await server.get('/pods', { token: undefined as never, certificate: otherCertificate })).status).toBe(401);
    expect((await server.get('/pods', { token: undefined as never })).status).toBe(200);
  });

  it('a certificate that expires while its connection lasts is refused from then on', async () => {
    await using server = await TestServer.start({ authentication });
    server.reviews.allows = () => true;
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const statusOf = async (): Promise<unknown> => {
      const request = server.request('/pods', { certificate: 'client-a', agent }).end();
      const [response] = (await once(request, 'response')) as [IncomingMessage];
      response.resume();
      await once(response, 'end');
      return [response.statusCode, request.reusedSocket];
    };
    expect(await statusOf()).toEqual([200, false]);
    server.clock.setWallTime('2119-12-31T23:59:59Z');
    expect(await statusOf()).toEqual([200, true]);
    server.clock.setWallTime('2120-01-01T00:00:01Z');
    expect(await statusOf()).toEqual([401, true]);
    agent.destroy();
  });

  it('a client with a certificate of another CA can authenticate with a token', async () => {
    await using server = await TestServer.start({ authentication });
    expect((await server.get('/pods', { certificate: otherCertificate })).status).toBe(200);
  });
});

describe('anonymous requests', () => {
  it('are those of system:anonymous', async () => {
    await using server = await TestServer.start({ authentication: { anonymous: true } });
    server.reviews.allows = ({ user }) => user === ('system:anonymous' as never);
    expect((await server.get('/pods', { token: undefined as never })).status).toBe(200);
    expect(server.reviews.of('SubjectAccessReview')[0]).toMatchObject({ groups: ['system:unauthenticated'] });
  });

  it('a request with a wrong token is refused, not treated as anonymous', async () => {
    await using server = await TestServer.start({
      authentication: { anonymous: true },
      authorization: { mode: 'AlwaysAllow' },
    });
    expect((await server.get('/pods', { token: 'wrong' })).status).toBe(401);
  });
});

it('AlwaysAllow asks for no permission', async () => {
  await using server = await TestServer.start({ authorization: { mode: 'AlwaysAllow' } });
  server.reviews.allows = () => false;
  expect((await server.get('/pods')).status).toBe(200);
  expect((await server.get('/pods', { token: 'unknown' })).status).toBe(401);
});

it('a client of several nodes on one port needs the permission for all nodes', async () => {
  await using server = await TestServer.start({}, { isShared: true });
  server.reviews.allows = ({ resourceAttributes }) =>
    (resourceAttributes as unknown as { name?: string }).name === undefined;
  expect(await server.get('/pods')).toMatchObject({ status: 200 });
});
