/** What a replica process is started with. */
export interface ReplicaConfig {
  readonly kubeconfig: object;
  readonly cloudURL: string;
  readonly identity: string;
  readonly nodeNames: readonly string[];
  readonly leaseDurationSeconds: number;
  /** Between two reports of the nodes that it owns. */
  readonly reportPeriodMs: number;
}
