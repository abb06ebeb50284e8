import { join } from 'node:path';
import { programsFolder } from '../../kubernetes/programs.ts';
import type { TestNode } from '../test-node.ts';
import { addCredentials, addNetwork } from './from-readme.ts';

const configOf = (cgroupDriver: CgroupDriver): string => `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
staticPodPath: /etc/kubernetes/manifests
cgroupDriver: ${cgroupDriver}
failSwapOn: false
authentication:
  anonymous: { enabled: false }
  x509: { clientCAFile: /etc/kubernetes/pki/ca.crt }
`;

const unit = `[Unit]
Description=kubelet
Wants=network-online.target
After=network-online.target containerd.service
[Service]
ExecStart=/usr/local/bin/kubelet --config=/etc/kubernetes/config.yaml --kubeconfig=/etc/kubernetes/kubelet.conf
Restart=always
RestartSec=5
[Install]
WantedBy=multi-user.target
`;

export type CgroupDriver = 'cgroupfs' | 'systemd';

/** Makes the machine a node of the real kubelet. */
export async function fromKubelet(node: TestNode): Promise<void> {
  await addNetwork(node);
  await addCredentials(node);
  await startKubelet(node, 'cgroupfs');
}

/** On a machine that has a network and credentials. */
export async function startKubelet(node: TestNode, driver: CgroupDriver): Promise<void> {
  await node.machine.copy([join(programsFolder(), 'kubelet')], '/usr/local/bin/');
  await node.machine.run(
    `cat >/etc/kubernetes/config.yaml <<'END'\n${configOf(driver)}END\ncat >/etc/systemd/system/kubelet.service <<'END'\n${unit}END
     systemctl enable --now containerd kubelet`,
  );
  await node.untilNode('Ready', 'True');
}
