import { X509Certificate } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createKubeTransport } from '../../../src/kube/http/transport.ts';
import { silentLogger } from '../../../src/testing/recording-logger.ts';
import { timeFromEpochMs } from '../../../src/shared/time.ts';
import { FakeClock } from '../../../src/testing/fake-clock.ts';
import { execUser, kubeConfig, printCredential } from './kube-configs.ts';
import { type KubeServer, startKubeServer, status, testPem } from './kube-server.ts';

let server: KubeServer;
let directory: string;
let clock: FakeClock;
/** What the server's clock shows. */
let serverNowMs: number;

const expiryMs = Date.parse(new X509Certificate(testPem('client-a')).validTo);
const expiry = timeFromEpochMs(expiryMs);
const secret = 'c2lnbmF0dXJl';

beforeEach(async () => {
  server = await startKubeServer({ tls: true });
  directory = await mkdtemp(join(tmpdir(), 'ksm-unauthorized-'));
  clock = new FakeClock('2026-01-01T00:00:00Z');
  serverNowMs = clock.now();
  server.respond = (_request, response) => {
    response.setHeader('date', new Date(serverNowMs).toUTCString());
    status(response, 401, 'Unauthorized');
  };
});
afterEach(async () => {
  await server.quiet();
  await server[Symbol.asyncDispose]();
  await rm(directory, { recursive: true });
});

function tokenOf(claims: object): string {
  return `e30.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.${secret}`;
}

/** The message of the error that a request as this user fails with. */
async function refusalOf(user: object): Promise<string> {
  const transport = createKubeTransport(kubeConfig(server.url, user), {
    ...{ clock, env: {}, logger: silentLogger, kubeConfigDir: directory },
  });
  const error: unknown = await transport.request('GET', '/version').catch((thrown: unknown) => thrown);
  await transport.close();
  expect(error).toMatchObject({ name: 'APIError', statusCode: 401 });
  return (error as Error).message;
}

const certificate = { 'client-certificate': 'node.crt', 'client-key': 'node.key' };

async function writeCertificate(): Promise<void> {
  await writeFile(join(directory, 'node.crt'), testPem('client-a'));
  await writeFile(join(directory, 'node.key'), testPem('client-a.key'));
}

it('a 401 names the client certificate that has expired, and when', async () => {
  await writeCertificate();
  serverNowMs = expiryMs;
  clock.setWallTime(expiryMs);
  expect(await refusalOf(certificate)).toBe(
    `401 Unauthorized: said Unauthorized (the client certificate ${join(directory, 'node.crt')} expired at ${expiry}: renew it)`,
  );
});

it('a 401 names a token that has expired or is not valid yet, with its file but without its text', async () => {
  const nowSeconds = clock.now() / 1000;
  await writeFile(join(directory, 'token'), tokenOf({ exp: nowSeconds - 60 }));
  const message = await refusalOf({ tokenFile: 'token' });
  expect(message).toContain(`(the token in ${join(directory, 'token')} expired at 2025-12-31T23:59:00Z: renew it)`);
  expect(message).not.toContain(secret);
  expect(await refusalOf({ token: tokenOf({ nbf: nowSeconds + 60 }) })).toContain(
    '(the token is not valid before 2026-01-01T00:01:00Z)',
  );
  const plugin = execUser(printCredential({ token: tokenOf({ exp: nowSeconds }) }));
  expect(await refusalOf(plugin)).toContain('(the token expired at 2026-01-01T00:00:00Z: renew it)');
});

it.each([
  [61_000, "the clock here is 61 s behind the server's"],
  [-3_600_000, "the clock here is 3600 s ahead of the server's"],
])('a 401 says that the clocks differ by %s ms', async (skewMs, expected) => {
  serverNowMs += skewMs;
  expect(await refusalOf({ token: 'opaque' })).toContain(`(${expected})`);
});

it.each([
  ['a token that is no JWT', { token: 'a.b.c' }],
  ['a JWT without times', { token: tokenOf({ sub: 'node' }) }],
  ['a valid token', { token: tokenOf({ exp: 4_102_444_800, nbf: 0 }) }],
  ['a password', { username: 'u', password: 'p' }],
])('a 401 to %s, with clocks less than a minute apart, adds nothing to the message of the server', async (_, user) => {
  serverNowMs += 60_000;
  expect(await refusalOf(user)).toBe('401 Unauthorized: said Unauthorized');
});
