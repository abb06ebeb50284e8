import type { Json } from '../../support/kube-http.ts';
import { blocksOfStep, filledIn } from '../readme-steps.ts';
import type { TestNode } from '../test-node.ts';

/** The README's other way to credentials: with a bootstrap token, the agent itself requests its certificate. */
export async function bootstrap(node: TestNode): Promise<void> {
  const { machine, controlPlane } = node;
  await node.administer(
    `kubectl create secret generic bootstrap-token-abcdef -n kube-system --type=bootstrap.kubernetes.io/token \
       --from-literal=token-id=abcdef --from-literal=token-secret=0123456789abcdef \
       --from-literal=usage-bootstrap-authentication=true
     kubectl create clusterrolebinding bootstrap --clusterrole=system:node-bootstrapper --group=system:bootstrappers`,
  );
  await machine.run('systemctl stop containerd-agent; rm /etc/kubernetes/kubelet.conf /etc/kubernetes/pki/node.*');
  await node.administer(`kubectl delete node ${node.name}`);
  const [, , , block] = blocksOfStep(4, 4);
  await machine.run(filledIn(block, { 'https://192.0.2.1:6443': controlPlane.url }));
  await machine.run('systemctl start containerd-agent');
  const request = await node.until('a request for a certificate', async () => {
    const { items } = await node.get('certificatesigningrequests');
    return items.find(({ spec }: Json) => spec.username === 'system:bootstrap:abcdef') ?? false;
  });
  await node.administer(`kubectl certificate approve ${request.metadata.name}`);
  await node.untilNode('Ready', 'True');
}
