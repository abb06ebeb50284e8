import { join } from 'node:path';
import { programsFolder } from '../../kubernetes/programs.ts';
import type { CgroupDriver } from '../../support/node/containerd.ts';
import { repository } from '../../support/repository.ts';
import { runCommand } from '../../support/run-command.ts';
import type { TestNode } from '../test-node.ts';

const shapes = [
  ...['runs', 'three-containers', 'crash-loop', 'succeeds', 'fails', 'out-of-memory', 'guaranteed', 'resize-cpu'],
  ...['sidecar-of-job', 'liveness-by-exec'],
];
const programs = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'kubelet', 'pause', 'agnhost'];
/** Where the command finds the programs, and files of the repository. */
const [cache, project] = ['/root/.cache/kubelet-status-manager/kubernetes/1.37.1', '/root/project'];

/** Ten shapes of `npm run side-by-side` on cgroup v2, with both cgroup drivers: a control plane, the kubelet and the agent in the machine. */
export async function sideBySide(node: TestNode): Promise<void> {
  await installCommand(node);
  await node.machine.run('systemctl stop containerd-agent containerd');
  for (const driver of ['cgroupfs', 'systemd'] satisfies CgroupDriver[]) {
    const options = `--shapes ${shapes.join(',')} --cgroup-driver ${driver} --folder /root/side-by-side-${driver}`;
    process.stdout.write(await node.machine.run(`node ${project}/dist/test/side-by-side/main.js ${options}`));
  }
}

/** The command in one file, with what it reads of the repository. */
async function installCommand({ machine, folder, signal }: TestNode): Promise<void> {
  const bundle = join(folder, 'main.js');
  const source = join(repository, 'dist/test/side-by-side/main.js');
  await runCommand('npx', ['rolldown', source, '--file', bundle, '--platform', 'node'], { cwd: repository, signal });
  const folders = ['dist/test/side-by-side', 'dist/containerd-agent', 'examples/containerd-agent', 'test/kubernetes'];
  await machine.run(`mkdir -p ${cache} ${folders.map((name) => join(project, name)).join(' ')}`);
  await machine.copy([bundle], `${project}/dist/test/side-by-side/`);
  await machine.copy([join(repository, 'dist/containerd-agent')], `${project}/dist/`);
  await machine.copy([join(repository, 'examples/containerd-agent')], `${project}/examples/`);
  await machine.copy([join(repository, 'test/kubernetes/versions.json')], `${project}/test/kubernetes/`);
  await machine.copy(
    programs.map((name) => join(programsFolder(), name)),
    `${cache}/`,
  );
}
