import type { Json } from '../../support/kube-http.ts';
import { app, containerOf, forever } from '../../side-by-side/shape.ts';
import { expectEqual, type TestNode } from '../test-node.ts';

/** systemd starts an agent again that was killed, and a containerd: the containers are the same, and run on. */
export async function kills(node: TestNode): Promise<void> {
  await node.createPods({ survivor: { containers: [app(forever)] } });
  const before = await node.untilReady('survivor');
  for (const unit of ['containerd-agent', 'containerd']) {
    const oldPid = await mainPid(node, unit);
    await node.machine.run(`systemctl kill --signal=SIGKILL --kill-whom=main ${unit}`);
    await node.until(`${unit} runs again`, async () => !['0', oldPid].includes(await mainPid(node, unit)));
    await node.machine.run('timeout 300 sh -c "until curl -sf http://127.0.0.1:10248/readyz; do sleep 1; done"');
    // What the agent has found by now is on the API server once a pod that it is given afterwards is ready.
    await node.createPods({ [`after-${unit}`]: { containers: [app(forever)] } });
    await node.untilReady(`after-${unit}`);
    expectEqual(`container after ${unit} was killed`, identityOf(await node.pod('survivor')), identityOf(before));
  }
  await node.deletePods('survivor', 'after-containerd-agent', 'after-containerd');
}

function identityOf(pod: Json): object {
  const { containerID, restartCount, ready } = containerOf(pod);
  return { containerID, restartCount, ready };
}

async function mainPid({ machine }: TestNode, unit: string): Promise<string> {
  return (await machine.run(`systemctl show --property=MainPID --value ${unit}`)).trim();
}
