/** The User-Agent header of probes. Source: kubelet `kube-probe/MAJOR.MINOR`. */
export const probeUserAgent = 'kube-probe/1.37';

/** The User-Agent header of lifecycle hooks. Source: kubelet `kube-lifecycle/MAJOR.MINOR`. */
export const lifecycleUserAgent = 'kube-lifecycle/1.37';
