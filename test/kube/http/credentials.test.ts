import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { KubeConfigSource, KubeTransport } from '../../../src/kube/http/index.ts';
import { createKubeTransport } from '../../../src/kube/http/transport.ts';
import { inClusterConfig } from '../../../src/kube/http/index.ts';
import type { Logger } from '../../../src/shared/logger.ts';
import { FakeClock } from '../../../src/testing/fake-clock.ts';
import { printCredential, execUser, kubeConfig } from './kube-configs.ts';
import type { KubeServer } from './kube-server.ts';
import { base64, json, startKubeServer, status, testPem } from './kube-server.ts';

let server: KubeServer;
let directory: string;
let clock: FakeClock;
let warnings: string[];
let debugged: object[];
const transports: KubeTransport[] = [];

beforeEach(async () => {
  server = await startKubeServer({ tls: true });
  server.respond = (_request, response) => json(response, {});
  directory = await mkdtemp(join(tmpdir(), 'ksm-credentials-'));
  clock = new FakeClock('2026-01-01T00:00:00Z');
  warnings = [];
  debugged = [];
});
afterEach(async () => {
  for (const transport of transports.splice(0)) await transport.close();
  await server.quiet();
  await server[Symbol.asyncDispose]();
  await rm(directory, { recursive: true });
});

function open(config: KubeConfigSource, env: Record<string, string> = {}): KubeTransport {
  const nothing = (): void => {};
  const logger: Logger = {
    trace: nothing,
    debug: (fields) => void debugged.push(fields),
    info: nothing,
    warn: (fields, message) => void warnings.push(JSON.stringify(fields) + message),
    error: nothing,
  };
  const transport = createKubeTransport(config, { clock, env, logger, kubeConfigDir: directory });
  transports.push(transport);
  return transport;
}

/** The token or client name of the request that was sent last. */
function last(): string | undefined {
  const arrived = server.arrived.at(-1);
  return arrived?.headers.authorization?.replace('Bearer ', '') ?? arrived?.clientName;
}

const call = (transport: KubeTransport): Promise<unknown> => transport.request('GET', '/version');

/** Responds with 401 to everybody but `token`. */
function accept(token: string): void {
  server.respond = ({ headers }, response) =>
    headers.authorization === `Bearer ${token}` ? json(response, {}) : status(response, 401, 'Unauthorized');
}

describe("an auth provider of client-node's KubeConfig that does not respond", () => {
  let provide: (options: { headers: Record<string, string> }) => Promise<void>;
  const config = (): KubeConfigSource => ({
    getCurrentCluster: () => ({ name: 'test', server: server.url, skipTLSVerify: true }),
    getCurrentUser: () => ({ authProvider: { name: 'oidc', config: {} } }),
    applyToHTTPSOptions: (options) => provide(options as { headers: Record<string, string> }),
  });

  it('fails the requests that wait for it after the time-out of a plugin, and no later ones', async () => {
    let respondLate = (): void => {};
    provide = (options) =>
      new Promise((resolve) => {
        respondLate = () => {
          options.headers['Authorization'] = 'Bearer late';
          resolve();
        };
      });
    const transport = open(config());
    const waiting = call(transport);
    await setImmediate();
    clock.advance(60_000);
    await expect(waiting).rejects.toMatchObject({
      kind: 'network',
      message: "client-node's auth provider took over 60000 ms",
    });
    provide = async (options) => void (options.headers['Authorization'] = 'Bearer new');
    await call(transport);
    respondLate();
    await call(transport);
    expect(server.arrived.map(({ headers }) => headers.authorization)).toEqual(['Bearer new', 'Bearer new']);
  });

  it('keeps no request waiting after close()', async () => {
    provide = () => new Promise(() => {});
    const transport = open(config());
    const waiting = call(transport);
    await setImmediate();
    await transport.close();
    await expect(waiting).rejects.toMatchObject({ kind: 'aborted' });
  });
});

describe.skipIf(process.platform === 'win32')('a file of the kubeconfig that is not a regular file', () => {
  it.each(['tokenFile', 'client-certificate', 'certificate-authority'])(
    '%s: a FIFO or a device is refused by name and never blocks a request',
    async (field) => {
      const fifo = join(directory, 'fifo');
      execFileSync('mkfifo', [fifo]);
      for (const [path, kind] of [
        [fifo, 'a FIFO'],
        ['/dev/zero', 'a device'],
      ] as const) {
        const [user, cluster] =
          field === 'certificate-authority'
            ? [{}, { 'certificate-authority-data': undefined, [field]: path }]
            : [{ [field]: path }, {}];
        await expect(call(open(kubeConfig(server.url, user, cluster)))).rejects.toMatchObject({
          kind: 'network',
          message: `credentials could not be read: ${path} is ${kind}, not a regular file`,
        });
      }
    },
  );
});

describe('token file', () => {
  const user = { tokenFile: 'token', token: 'fallback' };
  const write = (token: string): Promise<void> => writeFile(join(directory, 'token'), `${token}\n`);

  it('is resolved relative to the kubeconfig, trimmed, and read again after a minute', async () => {
    await write('one');
    const transport = open(kubeConfig(server.url, user));
    await call(transport);
    await write('two');
    clock.advance(59_000);
    await call(transport);
    expect(last()).toBe('one');
    clock.advance(1000);
    await call(transport);
    expect(last()).toBe('two');
    expect(new Set(server.arrived.map(({ connection }) => connection)).size).toBe(1);
  });

  it('is read again after a 401, and the request is sent once more', async () => {
    await write('one');
    const transport = open(kubeConfig(server.url, user));
    await call(transport);
    await write('two');
    accept('two');
    await call(transport);
    expect(server.arrived.map(({ headers }) => headers.authorization)).toEqual([
      'Bearer one',
      'Bearer one',
      'Bearer two',
    ]);
  });

  it('with the same token still in it, the request fails with the 401', async () => {
    await write('one');
    const transport = open(kubeConfig(server.url, user));
    accept('other');
    await expect(call(transport)).rejects.toMatchObject({ statusCode: 401 });
    expect(server.arrived).toHaveLength(1);
  });

  it('with another token that is refused too, the request fails with the second 401', async () => {
    await write('one');
    const transport = open(kubeConfig(server.url, user));
    await call(transport);
    await write('two');
    accept('other');
    await expect(call(transport)).rejects.toMatchObject({ statusCode: 401 });
    expect(server.arrived).toHaveLength(3);
  });

  it('that is removed leaves the previous token in use, and the warning names the file', async () => {
    await write('one');
    const transport = open(kubeConfig(server.url, user));
    await call(transport);
    await rm(join(directory, 'token'));
    clock.advance(60_000);
    await call(transport);
    expect(last()).toBe('one');
    expect(warnings).toEqual([
      `${JSON.stringify({ reason: `ENOENT ${join(directory, 'token')}` })}Failed to read the credentials again, using the previous ones`,
    ]);
    await write('two');
    clock.advance(9999);
    await call(transport);
    expect(last()).toBe('one');
    clock.advance(1);
    await call(transport);
    expect(last()).toBe('two');
  });

  it("that does not exist: the kubeconfig's `token` is used", async () => {
    await call(open(kubeConfig(server.url, user)));
    expect(last()).toBe('fallback');
  });

  it.each(['', undefined])(
    'that is missing or empty, without a `token` in the kubeconfig, fails without sending a request',
    async (content) => {
      if (content !== undefined) await write(content);
      await expect(call(open(kubeConfig(server.url, { tokenFile: 'token' })))).rejects.toMatchObject({
        name: 'APIError',
        kind: 'network',
      });
      expect(server.arrived).toEqual([]);
    },
  );

  it('is read once for many concurrent requests with a 401, and all are sent again', async () => {
    await write('one');
    const transport = open(kubeConfig(server.url, user));
    await call(transport);
    await write('two');
    accept('two');
    await Promise.all(Array.from({ length: 5 }, () => call(transport)));
    expect(server.arrived.filter(({ headers }) => headers.authorization === 'Bearer two')).toHaveLength(5);
  });
});

describe('client certificate', () => {
  it('by file is read again after a minute, for new connections', async () => {
    const user = { 'client-certificate': 'client.pem', 'client-key': 'client.key.pem' };
    const use = async (name: string): Promise<void> => {
      await writeFile(join(directory, 'client.pem'), testPem(name));
      await writeFile(join(directory, 'client.key.pem'), testPem(`${name}.key`));
    };
    await use('client-a');
    const transport = open(kubeConfig(server.url, user));
    await call(transport);
    await use('client-b');
    await call(transport);
    expect(last()).toBe('client-a');
    clock.advance(60_000);
    await call(transport);
    expect(last()).toBe('client-b');
    expect(server.arrived.map(({ connection }) => connection)).toEqual([1, 1, 2]);
    await server.quiet(1);
    expect(server.openSockets()).toBe(1);
  });

  it('and a CA by file are read again after a failed connection', async () => {
    await writeFile(join(directory, 'ca.pem'), testPem('client-a'));
    const cluster = { 'certificate-authority-data': undefined, 'certificate-authority': 'ca.pem' };
    const transport = open(kubeConfig(server.url, {}, cluster));
    await expect(call(transport)).rejects.toMatchObject({ kind: 'network' });
    await writeFile(join(directory, 'ca.pem'), testPem('ca'));
    await call(transport);
    expect(server.arrived).toHaveLength(1);
  });
});

describe('TLS', () => {
  it('an unknown authority, and a name that does not match, are refused', async () => {
    const unknown = { 'certificate-authority-data': base64(testPem('client-a')) };
    await expect(call(open(kubeConfig(server.url, {}, unknown)))).rejects.toMatchObject({ kind: 'network' });
    await using other = await startKubeServer({ tls: true, certificate: 'server-name' });
    await expect(call(open(kubeConfig(other.url)))).rejects.toMatchObject({ kind: 'network' });
    expect([...server.arrived, ...other.arrived]).toEqual([]);
  });

  it('tls-server-name overrides the expected name', async () => {
    await using other = await startKubeServer({ tls: true, certificate: 'server-name' });
    const transport = open(kubeConfig(other.url, {}, { 'tls-server-name': 'kube.test' }));
    await call(transport);
    expect(other.arrived).toHaveLength(1);
    await transport.close();
  });

  it('insecure-skip-tls-verify trusts anything', async () => {
    const cluster = { 'certificate-authority-data': undefined, 'insecure-skip-tls-verify': true };
    await call(open(kubeConfig(server.url, {}, cluster)));
    expect(server.arrived).toHaveLength(1);
  });
});

describe('exec plugin', () => {
  /** A plugin whose token is the number of its run, counted in a file. */
  const counting = (status: string): string => `
    const fs = require('node:fs'); const file = ${JSON.stringify(join(directory, 'runs'))};
    fs.appendFileSync(file, '.'); const run = fs.readFileSync(file, 'utf8').length;
    process.stdout.write(JSON.stringify({kind:'ExecCredential',apiVersion:'client.authentication.k8s.io/v1',status:${status}}))`;
  const runs = async (): Promise<number> => (await readFile(join(directory, 'runs'), 'utf8')).length;

  it('is run once for many requests if its credential does not expire', async () => {
    const transport = open(kubeConfig(server.url, execUser(counting(`{token:'run-'+run}`))));
    await Promise.all([call(transport), call(transport), call(transport)]);
    clock.advance(86_400_000);
    await call(transport);
    expect(last()).toBe('run-1');
    expect(await runs()).toBe(1);
  });

  it('is run again when its credential has expired', async () => {
    const transport = open(
      kubeConfig(server.url, execUser(counting(`{token:'run-'+run,expirationTimestamp:'2026-01-01T01:00:00Z'}`))),
    );
    await call(transport);
    clock.advance(3_599_000);
    await call(transport);
    expect(last()).toBe('run-1');
    clock.advance(1000);
    await call(transport);
    expect(last()).toBe('run-2');
  });

  it('is run again at a 401, at most once in five seconds', async () => {
    const transport = open(kubeConfig(server.url, execUser(counting(`{token:'run-'+run}`))));
    await call(transport);
    accept('run-2');
    await call(transport);
    expect(last()).toBe('run-2');
    accept('run-9');
    await expect(call(transport)).rejects.toMatchObject({ statusCode: 401 });
    await expect(call(transport)).rejects.toMatchObject({ statusCode: 401 });
    expect(await runs()).toBe(2);
    clock.advance(5000);
    await expect(call(transport)).rejects.toMatchObject({ statusCode: 401 });
    expect(await runs()).toBe(3);
  });

  it('that fails after a 401 fails the request with the 401, and logs its own failure', async () => {
    const transport = open(
      kubeConfig(server.url, execUser(`${counting(`{token:'run-'+run}`)};if (run > 1) process.exit(5)`)),
    );
    await call(transport);
    accept('other');
    await expect(call(transport)).rejects.toMatchObject({ statusCode: 401 });
    expect(warnings).toEqual([expect.stringMatching(/exit code 5.*Failed to renew the credentials after a 401/)]);
    await expect(call(transport)).rejects.toMatchObject({ kind: 'network' });
  });

  it.each([
    ['the cluster when asked to', true],
    ['nothing of the cluster otherwise', undefined],
  ])('is told %s', async (_what, provideClusterInfo) => {
    const told = join(directory, 'told');
    const script = `require('node:fs').writeFileSync(${JSON.stringify(told)}, process.env.KUBERNETES_EXEC_INFO);${printCredential({ token: 't' })}`;
    const cluster = {
      'tls-server-name': 'localhost',
      extensions: [{ name: 'client.authentication.k8s.io/exec', extension: { audience: 'a' } }],
    };
    await call(open(kubeConfig(server.url, execUser(script, { provideClusterInfo }), cluster)));
    const described = {
      server: server.url,
      'tls-server-name': 'localhost',
      'certificate-authority-data': base64(testPem('ca')),
      config: { audience: 'a' },
    };
    expect(JSON.parse(await readFile(told, 'utf8'))).toEqual({
      kind: 'ExecCredential',
      apiVersion: 'client.authentication.k8s.io/v1',
      spec: { interactive: false, ...(provideClusterInfo ? { cluster: described } : {}) },
    });
  });

  it('may give a certificate and its key without a token', async () => {
    const status = { clientCertificateData: testPem('client-a'), clientKeyData: testPem('client-a.key') };
    await call(open(kubeConfig(server.url, execUser(printCredential(status)))));
    expect(server.arrived[0]).toMatchObject({ clientName: 'client-a' });
    expect(server.arrived[0]?.headers.authorization).toBeUndefined();
  });

  it('without apiVersion is asked for v1, and may answer with another version', async () => {
    const script = `const asked = JSON.parse(process.env.KUBERNETES_EXEC_INFO).apiVersion.split('/')[1];
      const status = { token: 'asked-' + asked };
      console.log(JSON.stringify({ kind: 'ExecCredential', apiVersion: 'client.authentication.k8s.io/v1beta1', status }))`;
    await call(open(kubeConfig(server.url, execUser(script, { apiVersion: undefined }))));
    expect(last()).toBe('asked-v1');
  });

  it('with a relative path is resolved relative to the kubeconfig', async () => {
    const script = `#!${process.execPath}\n${printCredential({ token: 'by-file' })}`;
    await writeFile(join(directory, 'plugin.cjs'), script, { mode: 0o755 });
    await call(open(kubeConfig(server.url, execUser('', { command: './plugin.cjs', args: null }))));
    expect(last()).toBe('by-file');
  });

  const v1 = 'client.authentication.k8s.io/v1';
  const secret = 'very-secret';
  it.each<[string, string, object, RegExp]>([
    ['a failing one', `process.stdout.write('${secret}');process.exit(4)`, {}, /exit code 4/],
    ['one that is not there', '', { command: 'no-such-plugin-here', installHint: 'install it' }, /ENOENT.*install it/],
    ['one that does not print JSON', `process.stdout.write('${secret}')`, {}, /JSON/],
    [
      'one that prints something else',
      `process.stdout.write('{"token":"${secret}"}')`,
      {},
      /no.*ExecCredential|not print an ExecCredential/,
    ],
    ['one that returns null', `process.stdout.write('null')`, {}, /ExecCredential/],
    ['one of another version', printCredential({ token: secret }, `${v1}beta1`), {}, /apiVersion/],
    ['one of a removed version', printCredential({ token: secret }), { apiVersion: `${v1}alpha1` }, /v1alpha1/],
    ['one that gives nothing', printCredential({}), {}, /neither/],
    ['one that gives a certificate alone', printCredential({ clientCertificateData: secret }), {}, /without its key/],
    ['one that gives a key alone', printCredential({ clientKeyData: secret }), {}, /a key without certificate/],
    [
      'one that prints too much',
      `process.stdout.write('${secret}'.repeat(200_000));setInterval(() => {}, 1000)`,
      {},
      /printed more than 1048576 bytes$/,
    ],
    [
      'one that is killed',
      `process.kill(process.pid, 'SIGTERM');setInterval(() => {}, 1)`,
      {},
      /was killed \(SIGTERM\)/,
    ],
    ['a file that is not executable', '', { command: './not-executable', installHint: 'install it' }, /\(EACCES\)$/],
    ['a bad expiry', printCredential({ token: secret, expirationTimestamp: 'soon' }), {}, /expirationTimestamp/],
    ['one that needs a terminal', printCredential({ token: secret }), { interactiveMode: 'Always' }, /terminal/],
  ])('%s fails the request without quoting its output', async (_what, script, more, message) => {
    await writeFile(join(directory, 'not-executable'), '', { mode: 0o644 });
    const error: unknown = await call(open(kubeConfig(server.url, execUser(script, more)))).catch(
      (reason: unknown) => reason,
    );
    expect(error).toMatchObject({
      name: 'APIError',
      kind: 'network',
      message: expect.stringMatching(message) as string,
    });
    expect((error as Error).message + String((error as Error).cause)).not.toContain(secret);
    expect(server.arrived).toEqual([]);
  });

  it('that hangs is killed after execTimeoutMs', async () => {
    const transport = createKubeTransport(kubeConfig(server.url, execUser('setInterval(() => {}, 1000)')), {
      execTimeoutMs: 200,
    });
    await expect(call(transport)).rejects.toMatchObject({ kind: 'network' });
    await transport.close();
  });

  it.skipIf(process.platform === 'win32')(
    'that was killed left its children running: they are killed, too',
    async () => {
      // The child connects, and its connection ends with it.
      const listener = createServer();
      await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
      const { port } = listener.address() as AddressInfo;
      const child = `require('node:net').connect(${port}, '127.0.0.1')`;
      const script = `require('node:child_process').spawn(process.execPath, ['-e', ${JSON.stringify(child)}]);setInterval(() => {}, 1000)`;
      const transport = open(kubeConfig(server.url, execUser(script)));
      const failed = Promise.allSettled([call(transport)]);
      const [socket] = (await once(listener, 'connection')) as [Socket];
      const ended = once(
        socket.on('error', () => {}),
        'close',
      );
      clock.advance(60_000);
      expect(await failed).toMatchObject([
        { reason: { message: expect.stringMatching(/did not end within 60000 ms$/) as string } },
      ]);
      await ended;
      await new Promise((resolve) => listener.close(resolve));
    },
  );

  it('that fails is run again with back-off, not for every request', async () => {
    const transport = open(kubeConfig(server.url, execUser(`${counting('{}')};process.exit(3)`)));
    const failing = expect.objectContaining({ kind: 'network' }) as unknown;
    const runsAfter: number[] = [];
    for (const delayMs of [0, 999, 1, 1_999, 1, 3_999, 1]) {
      clock.advance(delayMs);
      for (let i = 0; i < 3; i++) await expect(call(transport)).rejects.toEqual(failing);
      runsAfter.push(await runs());
    }
    expect(runsAfter).toEqual([1, 1, 2, 2, 3, 3, 4]);
    for (let i = 0; i < 3; i++) {
      clock.advance(3_600_000);
      await expect(call(transport)).rejects.toEqual(failing);
    }
    clock.advance(59_999);
    await expect(call(transport)).rejects.toEqual(failing);
    expect(await runs()).toBe(7);
  });

  it('that returns expired credentials is run at most once in five seconds', async () => {
    const transport = open(
      kubeConfig(server.url, execUser(counting(`{token:'run-'+run,expirationTimestamp:'2020-01-01T00:00:00Z'}`))),
    );
    for (let i = 0; i < 3; i++) await call(transport);
    clock.advance(4_999);
    await call(transport);
    expect(last()).toBe('run-1');
    clock.advance(1);
    await call(transport);
    expect(last()).toBe('run-2');
  });

  it("does not write to the agent's terminal: the beginning of its stderr is logged at debug, without secrets", async () => {
    const script = `process.stderr.write('hello my-token, password=pw ' + process.env.KEY + 'x'.repeat(9999));${printCredential({ token: 'my-token' })}`;
    await call(open(kubeConfig(server.url, execUser(script, { env: [{ name: 'KEY', value: 'of-the-env' }] }))));
    const { stderr } = debugged[0] as { stderr: string };
    expect(stderr).toMatch(/^hello \[redacted\], password=\[redacted\] \[redacted\]x+$/);
    expect(stderr.length).toBeLessThan(4_200);
    debugged = [];
    await expect(
      call(open(kubeConfig(server.url, execUser(`console.error('no access');process.exit(1)`)))),
    ).rejects.toMatchObject({ message: expect.not.stringContaining('no access') as string });
    expect(debugged).toEqual([{ command: process.execPath, stderr: 'no access\n' }]);
  });

  it('that hangs with a child that keeps its output open also times out after execTimeoutMs', async () => {
    // The child ends after this test would have failed.
    const script = `require('node:child_process').spawn(process.execPath, ['-e', 'setTimeout(() => {}, 8_000)'], { stdio: 'inherit' });setInterval(() => {}, 1000)`;
    const transport = createKubeTransport(kubeConfig(server.url, execUser(script)), { execTimeoutMs: 400 });
    await expect(call(transport)).rejects.toMatchObject({ kind: 'network' });
    await transport.close();
  });

  it('does not delay the request if a child that outlives it keeps its output open', async () => {
    // The child ends after this test would have failed.
    const script = `require('node:child_process').spawn(process.execPath, ['-e', 'setTimeout(() => {}, 8_000)'], { stdio: 'inherit', detached: true }).unref();${printCredential({ token: 'at-once' })}`;
    const transport = createKubeTransport(kubeConfig(server.url, execUser(script)), { env: {} });
    transports.push(transport);
    await call(transport);
    expect(server.arrived[0]?.headers.authorization).toBe('Bearer at-once');
  });

  it('that hangs does not block a caller whose signal is aborted, and is killed by close()', async () => {
    const transport = open(kubeConfig(server.url, execUser('setInterval(() => {}, 1000)')));
    const controller = new AbortController();
    const impatient = transport.request('GET', '/version', { signal: controller.signal });
    const patient = call(transport);
    controller.abort(new DOMException('late', 'TimeoutError'));
    await expect(impatient).rejects.toMatchObject({ kind: 'timeout' });
    await Promise.all([expect(patient).rejects.toMatchObject({ kind: 'aborted' }), transport.close()]);
  });
});

describe('impersonation', () => {
  it('of a user with uid, groups and extras', async () => {
    const user = {
      token: 't',
      as: 'jane',
      'as-uid': '42',
      'as-groups': ['dev', 'ops'],
      'as-user-extra': { scopes: ['a', 'b'], 'acme.com/pro ject': ['x'] },
    };
    await call(open(kubeConfig(server.url, user)));
    expect(server.arrived[0]?.headers).toMatchObject({
      authorization: 'Bearer t',
      'impersonate-user': 'jane',
      'impersonate-uid': '42',
      'impersonate-group': 'dev, ops',
      'impersonate-extra-scopes': 'a, b',
      'impersonate-extra-acme.com%2fpro%20ject': 'x',
    });
  });
});

describe('a kubeconfig that cannot be used is refused immediately', () => {
  const good = kubeConfig('https://127.0.0.1:1');
  it.each<[string, object, string]>([
    ['no current context', { ...good, 'current-context': undefined }, 'kubeConfig.current-context'],
    ['an unknown context', { ...good, 'current-context': 'y' }, 'kubeConfig.contexts'],
    ['an unknown cluster', { ...good, clusters: [] }, 'kubeConfig.clusters'],
    ['contexts that are not a list', { ...good, contexts: {} }, 'kubeConfig.contexts'],
    ['clusters that are not a list', { ...good, clusters: {} }, 'kubeConfig.clusters'],
    ['a user that is null', { ...good, users: [null] }, 'kubeConfig.users'],
    ['an unknown user', { ...good, users: [] }, 'kubeConfig.users'],
    ['no server', kubeConfig(''), 'kubeConfig.clusters[].cluster.server'],
    ['a server that is not a URL', kubeConfig('host:6443'), 'kubeConfig.clusters[].cluster.server'],
    ['a password in the server', kubeConfig('https://u:p@host'), 'kubeConfig.clusters[].cluster.server'],
    ['groups without a user', kubeConfig('https://h', { 'as-groups': ['g'] }), 'kubeConfig.users[].user.as'],
    [
      'a legacy auth provider',
      kubeConfig('https://h', { 'auth-provider': { name: 'gcp', config: {} } }),
      'kubeConfig.users[].user.auth-provider',
    ],
    ['exec without command', kubeConfig('https://h', { exec: {} }), 'kubeConfig.users[].user.exec.command'],
    ['exec that is a text', kubeConfig('https://h', { exec: 'aws' }), 'kubeConfig.users[].user.exec.command'],
    [
      'a variable of exec that is a text',
      kubeConfig('https://h', { exec: { command: 'aws', env: ['A=1'] } }),
      'kubeConfig.users[].user.exec.env[].name',
    ],
    [
      'an ftp proxy',
      kubeConfig('https://h', {}, { 'proxy-url': 'ftp://p' }),
      'kubeConfig.clusters[].cluster.proxy-url',
    ],
    [
      'client-node without a cluster',
      { getCurrentCluster: () => null, getCurrentUser: () => null },
      'kubeConfig.current-context',
    ],
  ])('%s', (_what, config, path) => {
    expect(() => createKubeTransport(config as KubeConfigSource, { env: {} })).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT', path }),
    );
  });

  it('outside a cluster', () => {
    expect(() => inClusterConfig({ env: {} })).toThrow(expect.objectContaining({ code: 'INVALID_STATE' }));
  });

  it('an IPv6 address in a cluster is bracketed', () => {
    const config = inClusterConfig({ env: { KUBERNETES_SERVICE_HOST: 'fd00::1', KUBERNETES_SERVICE_PORT: '443' } });
    expect(config.clusters?.[0]?.cluster).toMatchObject({ server: 'https://[fd00::1]:443' });
  });
});
