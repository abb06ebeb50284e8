import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startContainerd, whyNoContainerd } from '../cri/containerd.ts';
import { type ControlPlane, controlPlaneAvailable, startControlPlane } from '../support/control-plane.ts';
import { KubeHTTP } from '../support/kube-http.ts';
import { certificateFile } from '../kubelet-api/test-server.ts';

const mainFile = fileURLToPath(new URL('../../dist/containerd-agent/main.mjs', import.meta.url));
const hasCommand = (name: string, ...args: string[]): boolean => spawnSync(name, args).error === undefined;
const why = !existsSync(mainFile)
  ? 'run `npm run build` first'
  : !hasCommand('kubectl', 'version', '--client')
    ? 'kubectl is not installed'
    : (whyNoContainerd() ?? controlPlaneAvailable().reason);
const image = 'docker.io/library/busybox:1';
const counting = 'i=0; while true; do i=$((i+1)); echo line $i; echo error $i >&2; sleep 0.2; done';

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}

// The API server authenticates by a client certificate, and RBAC says what it may do: nothing is open.
describe.skipIf(why !== '')(`kubectl on containerd-agent${why && ` (skipped: ${why})`}`, () => {
  let containerd: Awaited<ReturnType<typeof startContainerd>>;
  let controlPlane: ControlPlane;
  let admin: KubeHTTP;
  let folder: string;
  const processes: ChildProcess[] = [];

  beforeAll(async () => {
    [containerd, controlPlane] = await Promise.all([
      startContainerd(9),
      startControlPlane({
        apiServerFlags: [
          `--kubelet-client-certificate=${certificateFile('client-a')}`,
          `--kubelet-client-key=${certificateFile('client-a.key')}`,
          '--kubelet-preferred-address-types=InternalIP',
        ],
      }),
    ]);
    admin = new KubeHTTP({ ...controlPlane, token: controlPlane.adminToken });
    ({ folder } = containerd);
    for (const user of ['admin', 'node-a'])
      await writeFile(join(folder, `${user}.kubeconfig`), JSON.stringify(controlPlane.kubeConfig(user)));
    await mkdir(join(folder, 'copied'));
    const agent = spawn(
      process.execPath,
      [
        ...[mainFile, '--kubeconfig', join(folder, 'node-a.kubeconfig'), '--hostname-override', 'node-a'],
        ...['--root-dir', join(folder, 'kubelet'), '--pod-logs-dir', join(folder, 'logs'), '--log-level', 'warn'],
        ...['--container-runtime-endpoint', containerd.endpoint, '--cgroup-root', '/kubepods-kubelet-api'],
        ...['--node-ip', '127.0.0.1', '--address', '127.0.0.1', '--port', String(await freePort())],
        ...['--healthz-port', '0', '--client-ca-file', certificateFile('ca')],
      ],
      { stdio: ['ignore', 'ignore', 'inherit'] },
    );
    processes.push(agent);
    await admin.request('POST', '/api/v1/namespaces/default/pods', {
      body: {
        ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web' } },
        spec: {
          nodeName: 'node-a',
          terminationGracePeriodSeconds: 1,
          automountServiceAccountToken: false,
          containers: [
            { name: 'app', image, command: ['sh', '-c', counting] },
            { name: 'shell', image, stdin: true, command: ['sh'] },
            { name: 'http', image, command: ['sh', '-c', 'echo hello >/tmp/index.html; httpd -f -p 8080 -h /tmp'] },
          ].map((container) => ({ ...container, imagePullPolicy: 'IfNotPresent' })),
        },
      },
    });
  });
  afterAll(async () => {
    for (const child of processes.filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null)) {
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
    await admin?.close();
    await controlPlane?.stop();
    await containerd?.stop();
  });

  const environment = (): NodeJS.ProcessEnv => ({ ...process.env, KUBECONFIG: join(folder, 'admin.kubeconfig') });
  async function kubectl(...args: string[]): Promise<string> {
    const { stdout } = await promisify(execFile)('kubectl', args, { env: environment(), timeout: 60_000 });
    return stdout;
  }
  /** A kubectl that runs on; resolves when its output matches. */
  async function kubectlUntil(pattern: RegExp, input: string, command: readonly string[]): Promise<string> {
    const [name = '', ...args] = command;
    const child = spawn(name, args, { env: environment(), stdio: ['pipe', 'pipe', 'inherit'] });
    processes.push(child);
    child.stdin.write(input);
    let text = '';
    for await (const chunk of child.stdout.setEncoding('utf8')) {
      text += chunk as string;
      if (pattern.test(text)) break;
    }
    if (child.exitCode === null && child.signalCode === null) {
      child.kill();
      await once(child, 'exit');
    }
    return text;
  }

  it('the API server may read logs with the ClusterRole system:kubelet-api-admin', async () => {
    await kubectl('create', 'clusterrolebinding', 'a', '--clusterrole=system:kubelet-api-admin', '--user=client-a');
    await expect
      .poll(async () => (await admin.request('GET', '/api/v1/namespaces/default/pods/web')).body.status.phase)
      .toBe('Running');
    await expect.poll(() => kubectl('logs', 'web', '-c', 'app').catch(() => '')).toContain('line 1\n');
  });

  it('logs: the last lines, times, and what the container writes while they are followed', async () => {
    expect(await kubectl('logs', 'web', '-c', 'app', '--tail=3')).toMatch(
      /^((line|error) \d+\n){2}(line|error) \d+\n?$/,
    );
    expect(await kubectl('logs', 'web', '-c', 'app', '--limit-bytes=8')).toMatch(/^(line 1\ne|error 1\n)/);
    expect(await kubectl('logs', 'web', '-c', 'app', '--timestamps', '--since=1h')).toMatch(
      /^\d{4}-\d\d-\d\dT[\d:]{8}\.\d{9}(Z|[+-]\d\d:\d\d) (line|error) 1\n/,
    );
    const before = (await kubectl('logs', 'web', '-c', 'app')).match(/line (\d+)\n/g)!.length;
    const later = new RegExp(`line ${before + 3}\\n`);
    expect(await kubectlUntil(later, '', ['kubectl', 'logs', '-f', 'web', '-c', 'app', '--tail=1'])).toMatch(later);
    await expect(kubectl('logs', 'web', '-c', 'app', '--previous')).rejects.toThrow(
      'previous terminated container "app" in pod "web" not found',
    );
  });

  it('exec: output, input and exit code', async () => {
    expect(await kubectl('exec', 'web', '-c', 'app', '--', 'echo', 'a b')).toBe('a b\n');
    const command = ['kubectl', 'exec', '-i', 'web', '-c', 'app', '--', 'sh'];
    expect(await kubectlUntil(/42/, 'echo $((6 * 7))\n', command)).toBe('42\n');
    await expect(kubectl('exec', 'web', '-c', 'app', '--', 'sh', '-c', 'exit 7')).rejects.toMatchObject({ code: 7 });
  });

  it.skipIf(!hasCommand('script', '--version'))('exec -it: a terminal (skipped without script)', async () => {
    const command = ['script', '-qec', 'kubectl exec -it web -c app -- sh', '/dev/null'];
    expect(await kubectlUntil(/tty-42/, 'test -t 0 && echo tty-$((6 * 7))\n', command)).toContain('tty-42');
  });

  it('attach: the main process', async () => {
    const command = ['kubectl', 'attach', '-i', 'web', '-c', 'shell'];
    expect(await kubectlUntil(/42/, 'echo $((6 * 7))\n', command)).toContain('42\n');
  });

  it('port-forward', async () => {
    const child = spawn('kubectl', ['port-forward', 'web', ':8080'], {
      env: environment(),
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    processes.push(child);
    // kubectl goes on to write there.
    const text = await new Promise<string>((resolve) => child.stdout.setEncoding('utf8').on('data', resolve));
    const [, port] = /127\.0\.0\.1:(\d+) ->/.exec(text)!;
    expect(await (await fetch(`http://127.0.0.1:${port}/index.html`)).text()).toBe('hello\n');
    expect(await (await fetch(`http://127.0.0.1:${port}/index.html`)).text()).toBe('hello\n');
  });

  it('cp: to a container and back', async () => {
    const file = join(folder, 'copied', 'file');
    await writeFile(file, 'x'.repeat(1_000_000));
    await kubectl('cp', file, 'web:/tmp/file', '-c', 'app');
    await kubectl('cp', 'web:/tmp/file', `${file}.back`, '-c', 'app');
    expect(await readFile(`${file}.back`, 'utf8')).toBe('x'.repeat(1_000_000));
  });

  it('debug: a container in the process namespace of another one', async () => {
    const ps = ['--', 'sh', '-c', 'ps; sleep 1000'];
    const options = ['--profile=general', '--image', image, '--image-pull-policy=IfNotPresent', '--attach=false'];
    await kubectl('debug', 'web', ...options, '--target=http', '-c', 'debugger', ...ps);
    await expect
      .poll(() => kubectl('logs', 'web', '-c', 'debugger').catch(() => ''))
      .toMatch(/^ *1 root .*httpd -f -p 8080/m);
  });
});
