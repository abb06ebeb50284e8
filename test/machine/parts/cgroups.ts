import { app, containerOf, forever } from '../../side-by-side/shape.ts';
import { conditionOf, expectEqual, type TestNode } from '../test-node.ts';

const limits = { cpu: '250m', memory: '64Mi' };

/** Limits are those of the kernel, a container that uses more memory is killed, and a resize takes place in the running one. */
export async function cgroups(node: TestNode): Promise<void> {
  const hungry = 'sleep 1; x=a; while :; do x=$x$x; done';
  await node.createPods({
    limited: { containers: [app(forever, { resources: { limits } })] },
    hungry: { restartPolicy: 'Never', containers: [app(hungry, { resources: { limits } })] },
  });
  await node.untilReady('limited');
  const read = (file: string): Promise<string> => node.exec('limited', `cat /sys/fs/cgroup/${file}`);
  expectEqual('memory.max', (await read('memory.max')).trim(), String(64 * 2 ** 20));
  expectEqual('cpu.max', (await read('cpu.max')).trim(), '25000 100000');
  const hungryPod = await node.untilPod('hungry', 'ended', ({ status }) => status.phase === 'Failed');
  const { reason, exitCode } = containerOf(hungryPod).state.terminated;
  expectEqual('a container without memory', { reason, exitCode }, { reason: 'OOMKilled', exitCode: 137 });

  const resources = { limits: { cpu: '500m', memory: '64Mi' }, requests: { cpu: '500m', memory: '64Mi' } };
  const patch = JSON.stringify({ spec: { containers: [{ name: 'app', resources }] } });
  await node.administer(`kubectl patch pod limited --subresource resize --patch '${patch}'`);
  await node.untilPod(
    'limited',
    'resized',
    (pod) =>
      containerOf(pod)?.resources?.limits?.cpu === '500m' && conditionOf(pod, 'PodResizeInProgress') === undefined,
  );
  expectEqual('cpu.max after a resize', (await read('cpu.max')).trim(), '50000 100000');
  await node.deletePods('limited', 'hungry');
}

/** As `cgroups`, with systemd's scopes and slices. */
export async function systemdCgroups(node: TestNode): Promise<void> {
  const section = 'plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc';
  const config = `[${section}]\nruntime_type = "io.containerd.runc.v2"\noptions = { SystemdCgroup = true }`;
  await node.machine.run(
    `systemctl stop containerd-agent
     echo '${config}' >>/etc/containerd/config.toml
     systemctl restart containerd
     systemctl start containerd-agent`,
  );
  await node.untilNode('Ready', 'True');
  await cgroups(node);
  const slices = await node.machine.run('ls -d /sys/fs/cgroup/kubepods.slice /sys/fs/cgroup/kubepods.slice/*.slice');
  if (!slices.includes('kubepods-burstable.slice')) throw new Error(`No slices of systemd: ${slices}`);
}
