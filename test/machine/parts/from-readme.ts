import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { repository } from '../../support/repository.ts';
import { runCommand } from '../../support/run-command.ts';
import { blocksOfStep, filledIn } from '../readme-steps.ts';
import { expectEqual, type TestNode } from '../test-node.ts';

/**
 * The README of examples/containerd-agent, pasted: from the empty machine to `kubectl exec`. The packages of its first
 * step are in the machine's image, because the machine reaches no registry; for the same reason, images are imported.
 */
export async function fromReadme(node: TestNode): Promise<void> {
  await addNetwork(node);
  await installAgent(node);
  await addCredentials(node);
  const [start] = blocksOfStep(5, 1);
  await node.machine.run(start.replace(/^curl .*$/m, ''));
  await node.untilNode('Ready', 'True');
  await node.machine.run(start);
  await runHello(node);
}

export async function addNetwork({ machine }: TestNode): Promise<void> {
  const [network] = blocksOfStep(2, 1);
  await machine.run(`mkdir -p /etc/cni/net.d && cat >/etc/cni/net.d/10-bridge.conflist <<'END'\n${network}END`);
}

async function installAgent({ machine, folder, signal }: TestNode): Promise<void> {
  const [, install] = blocksOfStep(3, 3);
  const pack = ['pack', '--ignore-scripts', '--silent', '--pack-destination', folder];
  const tarball = await runCommand('npm', pack, { cwd: repository, signal });
  await machine.copy([join(folder, tarball.trim())], '/root/');
  await machine.run(install);
}

/** With a certificate that the administrator signs; the step's last block is another way. */
export async function addCredentials(node: TestNode): Promise<void> {
  const { machine, folder, controlPlane } = node;
  const [request, sign, kubeconfig] = blocksOfStep(4, 4);
  await machine.run(request);
  await writeFile(join(folder, 'node.csr'), await machine.run('cat /etc/kubernetes/pki/node.csr'));
  await node.administer(untilSigned(sign));
  await machine.copy([join(folder, 'node.crt'), join(folder, 'ca.crt')], '/etc/kubernetes/pki/');
  await machine.run(filledIn(kubeconfig, { 'https://192.0.2.1:6443': controlPlane.url }));
}

/** Who types needs longer than the controller that signs. */
function untilSigned(block: string): string {
  const approve = 'kubectl certificate approve new-node\n';
  const wait = "kubectl wait csr/new-node --for=jsonpath='{.status.certificate}' --timeout=60s\n";
  return filledIn(block, { [approve]: approve + wait });
}

async function runHello(node: TestNode): Promise<void> {
  const [block] = blocksOfStep(6, 1);
  const commands = filledIn(block, {
    'NAME OF THE NODE': node.name,
    '--image=busybox': '--image=busybox:1',
    'kubectl logs -f hello': 'kubectl wait pod/hello --for=condition=Ready --timeout=420s\nkubectl logs hello',
    'kubectl exec -it hello -- sh': 'kubectl exec hello -- sh -c "echo in the container"',
  });
  expectEqual('kubectl exec', (await node.administer(commands)).trim().split('\n').at(-1), 'in the container');
  await node.deletePods('hello');
}
