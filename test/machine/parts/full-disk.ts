import { app, forever } from '../../side-by-side/shape.ts';
import { conditionOf, type TestNode } from '../test-node.ts';

/** With a full disk, the node says so and evicts the pod that filled it; with room again, pods run. */
export async function fullDisk(node: TestNode): Promise<void> {
  const fill = 'dd if=/dev/zero of=/cache/file bs=1M; sleep 100000';
  const volumes = [{ name: 'cache', emptyDir: {} }];
  const volumeMounts = [{ name: 'cache', mountPath: '/cache' }];
  await node.machine.run(
    `echo 'AGENT_ARGS=--eviction-pressure-transition-period 10s' >/etc/default/containerd-agent
     systemctl restart containerd-agent`,
  );
  await node.createPods({
    filler: { volumes, containers: [app(fill, { volumeMounts })] },
    bystander: { containers: [app(forever, { resources: { limits: { cpu: '100m', memory: '32Mi' } } })] },
  });
  await node.untilNode('DiskPressure', 'True');
  const filler = await node.untilPod('filler', 'evicted', ({ status }) => status.phase === 'Failed');
  if (filler.status.reason !== 'Evicted') throw new Error(`filler: ${JSON.stringify(filler.status)}`);
  await node.deletePods('filler');
  await node.until(
    'the pressure ends',
    async () => conditionOf(await node.get(`node ${node.name}`), 'DiskPressure')?.status === 'False',
  );
  await node.createPods({ later: { containers: [app(forever)] } });
  await node.untilReady('later');
  await node.deletePods('later', 'bystander');
}
