import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { APIServer } from '../../src/testing/index.ts';

/** A Python that has the clients: the environment variable PYTHON, or `python3`. */
const python = process.env['PYTHON'] ?? 'python3';
const hasPython = (module: string): boolean => spawnSync(python, ['-c', `import ${module}`]).status === 0;
const oracle =
  process.env['KUBELET_ORACLE'] ?? fileURLToPath(new URL('../../../shared/oracle/kubelet-oracle', import.meta.url));
const unless = (isThere: boolean, what: string): string => (isThere ? '' : ` (skipped: ${what} is not installed)`);

interface Outcome {
  readonly output: string;
  readonly server: APIServer;
}

/** Runs a program with the kubeconfig of a new APIServer that has the Node node-a, until it exits. */
async function run(program: string, parameters: (folder: string) => Promise<string[]>): Promise<Outcome> {
  const server = await APIServer.start();
  const folder = await mkdtemp(join(tmpdir(), 'other-client-'));
  onTestFinished(async () => {
    await server.close();
    await rm(folder, { recursive: true, force: true });
  });
  server.nodes.create('node-a');
  const kubeconfig = join(folder, 'kubeconfig');
  await writeFile(kubeconfig, server.kubeconfigYaml(), { mode: 0o600 });
  const child = spawn(program, await parameters(folder), { env: { ...process.env, KUBECONFIG: kubeconfig } });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  }
  await once(child, 'close');
  return { output, server };
}

const script = (text: string) => async (folder: string) => {
  const file = join(folder, 'script.py');
  await writeFile(file, text);
  return [file];
};

describe('other clients on APIServer', () => {
  const hasKubernetes = hasPython('kubernetes');
  it.skipIf(!hasKubernetes)(`Python kubernetes${unless(hasKubernetes, 'it')}`, { timeout: 30_000 }, async () => {
    const { output } = await run(
      python,
      script(`
from kubernetes import client, config, watch
config.load_kube_config()
core = client.CoreV1Api()
pod = {"metadata": {"name": "py"}, "spec": {"nodeName": "node-a", "containers": [{"name": "c", "image": "i"}]}}
print(core.create_namespaced_pod("default", pod).status.phase)
core.patch_namespaced_pod_status("py", "default", {"status": {"phase": "Running"}})
print([p.status.phase for p in core.list_namespaced_pod("default").items])
w = watch.Watch()
for event in w.stream(core.list_namespaced_pod, "default", timeout_seconds=5):
    print(event["type"], event["object"].metadata.name)
    w.stop()
try:
    core.create_namespaced_pod("default", pod)
except client.exceptions.ApiException as error:
    print(error.status)
core.delete_namespaced_pod("py", "default", grace_period_seconds=0)
print(len(core.list_namespaced_pod("default").items))
`),
    );
    expect(output.split('\n')).toEqual(['Pending', "['Running']", 'ADDED py', '409', '0', '']);
  });

  const hasKopf = hasPython('kopf');
  it.skipIf(!hasKopf)(`kopf${unless(hasKopf, 'it')}`, { timeout: 30_000 }, async () => {
    const handler = `
import os, signal, kopf
@kopf.on.startup()
def configure(settings, **_):
    settings.posting.enabled = False
@kopf.on.create("v1", "nodes")
def created(name, **_):
    print("created", name, flush=True)
    os.kill(os.getpid(), signal.SIGTERM)
`;
    const { output } = await run(python, async (folder) => [
      ...['-m', 'kopf', 'run', '--standalone', '--all-namespaces'],
      ...(await script(handler)(folder)),
    ]);
    expect(output).toContain('created node-a');
    expect(output).toContain('Creation is processed: 1 succeeded; 0 failed.');
  });

  const hasOracle = existsSync(oracle);
  it.skipIf(!hasOracle)(
    `client-go with protobuf is told to set ContentType${unless(hasOracle, 'the program')}`,
    { timeout: 60_000 },
    async () => {
      const { output, server } = await run(oracle, () => Promise.resolve(['bench-api', '2']));
      expect(output).toContain('set ContentType: application/json');
      expect(server.pods.list()).toEqual([]);
    },
  );
});
