/** Servers tell probes from other requests by this. Source: kubelet `kube-probe/MAJOR.MINOR`. */
export const probeUserAgent = 'kube-probe/1.37';
