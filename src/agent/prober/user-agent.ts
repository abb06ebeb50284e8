/** Servers tell probes from other requests by this. Source: kubelet `kube-probe/MAJOR.MINOR`. */
export const probeUserAgent = 'kube-probe/1.37';

/** The same of hooks. Source: kubelet `kube-lifecycle/MAJOR.MINOR`. */
export const lifecycleUserAgent = 'kube-lifecycle/1.37';
