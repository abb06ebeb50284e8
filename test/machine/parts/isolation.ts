import { app, containerOf, forever } from '../../side-by-side/shape.ts';
import { expectEqual, type TestNode } from '../test-node.ts';

const profile = `#include <tunables/global>
profile test-deny-write flags=(attach_disconnected) {
  #include <abstractions/base>
  file,
  # Of the runtime.
  signal,
  deny /tmp/** w,
}`;

/** A container runs with the AppArmor profile that it asks for; with one that is not loaded, it does not run. */
export async function appArmor(node: TestNode): Promise<void> {
  await node.machine.run(`cat >/tmp/profile <<'END'\n${profile}\nEND\napparmor_parser -r /tmp/profile`);
  const withProfile = (appArmorProfile: object): object => ({
    restartPolicy: 'Never',
    containers: [app(forever, { securityContext: { appArmorProfile } })],
  });
  await node.createPods({
    'runtime-default': withProfile({ type: 'RuntimeDefault' }),
    localhost: withProfile({ type: 'Localhost', localhostProfile: 'test-deny-write' }),
    unconfined: withProfile({ type: 'Unconfined' }),
    missing: withProfile({ type: 'Localhost', localhostProfile: 'not-loaded' }),
  });
  const profiles = {
    'runtime-default': 'cri-containerd.apparmor.d (enforce)',
    localhost: 'test-deny-write (enforce)',
    // Debian's profile of that name, which confines nothing.
    unconfined: 'runc (unconfined)',
  };
  for (const [name, expected] of Object.entries(profiles)) {
    await node.untilReady(name);
    expectEqual(`profile of ${name}`, (await node.exec(name, 'cat /proc/1/attr/current')).trim(), expected);
  }
  const missing = await node.untilPod('missing', 'not running', (pod) => {
    const { waiting } = containerOf(pod)?.state ?? {};
    return pod.status.phase === 'Failed' || (waiting !== undefined && waiting.reason !== 'ContainerCreating');
  });
  expectEqual('missing has started', containerOf(missing)?.started ?? false, false);
  await node.deletePods(...Object.keys(profiles), 'missing');
}

/** A pod with `hostUsers: false` has users of its own, or does not run. */
export async function userNamespaces(node: TestNode): Promise<void> {
  await node.createPods({ userns: { hostUsers: false, restartPolicy: 'Never', containers: [app(forever)] } });
  const hasStarted = (pod: { status?: { phase?: string } }): boolean => pod.status?.phase === 'Running';
  const pod = await node.until('userns runs or is refused', async () => {
    const seen = await node.pod('userns');
    const events = await node.get('events --field-selector involvedObject.name=userns,type=Warning');
    return (hasStarted(seen) || seen.status.phase === 'Failed' || events.items.length > 0) && seen;
  });
  if (hasStarted(pod)) {
    const map = await node.exec('userns', 'cat /proc/self/uid_map');
    if (/^\s*0\s+0\s/.test(map)) throw new Error(`A pod with hostUsers: false is root on the machine: ${map}`);
  }
  await node.deletePods('userns');
}
