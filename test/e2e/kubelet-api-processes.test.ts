import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { certificateFile } from '../kubelet-api/test-server.ts';
import {
  type ControlPlane,
  controlPlaneAssets,
  controlPlaneAvailable,
  kubeAPIServerVersion,
  startControlPlane,
} from '../support/control-plane.ts';
import { TestDirectories } from '../support/directories.ts';
import { KubeHTTP } from '../support/kube-http.ts';

const mainFile = fileURLToPath(new URL('../../dist/examples/node-agent/main.js', import.meta.url));
const why = !existsSync(mainFile)
  ? 'run `npm run build` first'
  : spawnSync('kubectl', ['version', '--client']).error !== undefined
    ? 'kubectl is not installed'
    : controlPlaneAvailable().reason || passesNoWebSockets();

/** Why the API server does not pass WebSockets through; empty if it does. */
function passesNoWebSockets(): string {
  const version = kubeAPIServerVersion(controlPlaneAssets()[0]!);
  return Number(version.split('.')[1]) < 36 ? `kube-apiserver ${version} needs a kubelet with SPDY` : '';
}

const directories = new TestDirectories();

// The API server passes the WebSockets of kubectl through, because the Node declares that it has them.
describe.skipIf(why !== '')(
  `kubectl on node-agent, whose containers are processes${why && ` (skipped: ${why})`}`,
  () => {
    let controlPlane: ControlPlane;
    let admin: KubeHTTP;
    let agent: ChildProcess;
    let folder: string;

    beforeAll(async () => {
      folder = directories.create();
      controlPlane = await startControlPlane({
        apiServerFlags: [
          `--kubelet-client-certificate=${certificateFile('client-a')}`,
          `--kubelet-client-key=${certificateFile('client-a.key')}`,
          '--kubelet-preferred-address-types=InternalIP',
        ],
      });
      admin = new KubeHTTP({ ...controlPlane, token: controlPlane.adminToken });
      for (const user of ['admin', 'node-a'])
        await writeFile(join(folder, `${user}.kubeconfig`), JSON.stringify(controlPlane.kubeConfig(user)));
      agent = spawn(
        process.execPath,
        [
          ...[mainFile, '--kubeconfig', join(folder, 'node-a.kubeconfig'), '--node-name', 'node-a'],
          ...['--root-dir', join(folder, 'node'), '--kubelet-port', '0', '--client-ca-file', certificateFile('ca')],
        ],
        { stdio: ['ignore', 'ignore', 'inherit'] },
      );
      await kubectl('create', 'clusterrolebinding', 'a', '--clusterrole=system:kubelet-api-admin', '--user=client-a');
    });
    afterAll(async () => {
      if (agent?.exitCode === null) {
        agent.kill('SIGTERM');
        await once(agent, 'exit');
      }
      await admin?.close();
      await controlPlane?.stop();
      directories.removeAll();
    });

    const environment = (): NodeJS.ProcessEnv => ({ ...process.env, KUBECONFIG: join(folder, 'admin.kubeconfig') });
    async function kubectl(...args: string[]): Promise<string> {
      const { stdout } = await promisify(execFile)('kubectl', args, { env: environment(), timeout: 60_000 });
      return stdout;
    }

    async function kubectlWithInput(input: string, ...args: string[]): Promise<string> {
      const child = spawn('kubectl', args, { env: environment(), stdio: ['pipe', 'pipe', 'inherit'] });
      child.stdin.end(input);
      let text = '';
      for await (const chunk of child.stdout.setEncoding('utf8')) text += chunk as string;
      return text;
    }

    async function createPod(name: string, script: string, container: object = {}): Promise<void> {
      const pod = {
        metadata: { name, annotations: { 'kubelet-status-manager.dev/run': 'process' } },
        spec: {
          nodeName: 'node-a',
          restartPolicy: 'Never',
          terminationGracePeriodSeconds: 1,
          automountServiceAccountToken: false,
          containers: [{ name: 'app', image: 'none', command: ['sh', '-c', `echo hello; ${script}`], ...container }],
        },
      };
      await admin.request('POST', '/api/v1/namespaces/default/pods', {
        body: { apiVersion: 'v1', kind: 'Pod', ...pod },
      });
    }

    /** Resolves when the container has written `hello`. */
    async function runPod(...pod: Parameters<typeof createPod>): Promise<void> {
      await createPod(...pod);
      const [name] = pod;
      await expect.poll(() => kubectl('logs', name).catch(() => '')).toBe('hello\n');
    }

    it('logs and exec: output, input and exit code', async () => {
      await runPod('web', 'exec sleep 3600');
      expect(await kubectl('exec', 'web', '--', 'echo', 'a b')).toBe('a b\n');
      await expect(kubectl('exec', 'web', '--', 'sh', '-c', 'exit 7')).rejects.toMatchObject({ code: 7 });
      expect(await kubectlWithInput('from the client', 'exec', '-i', 'web', '--', 'cat')).toBe('from the client');
      await kubectl('delete', 'pod', 'web');
    });

    it('attach: the output from then on, and the input, until the process ends', async () => {
      await runPod('typed', 'while read line; do echo "read $line"; done', { stdin: true, stdinOnce: true });
      expect(await kubectlWithInput('one\ntwo\n', 'attach', '-i', '-q', 'typed')).toBe('read one\nread two\n');
      await kubectl('wait', 'pod/typed', '--for', 'jsonpath={.status.phase}=Succeeded');
    });

    it('what processes do not have is refused with a reason', async () => {
      await createPod('terminal', 'exec sleep 3600', { tty: true });
      const waiting = 'jsonpath={.status.containerStatuses[0].state.waiting';
      await kubectl('wait', 'pod/terminal', '--for', `${waiting}.reason}=CreateContainerConfigError`);
      expect(await kubectl('get', 'pod/terminal', '-o', `${waiting}.message}`)).toContain('tty');
      await runPod('plain', 'exec sleep 3600');
      const noPorts =
        'error: error upgrading connection: unable to upgrade connection: The runtime cannot forward ports';
      await expect(kubectl('port-forward', 'plain', ':80')).rejects.toThrow(noPorts);
    });
  },
);
