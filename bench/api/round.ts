/** One round of updates, one update for each pod: a line of `kubelet-oracle bench-api`, `bench-vk`, and of our contestants. */
export interface Round {
  /** From 0. */
  readonly round: number;
  readonly per_s: number;
  /** CPU time of the contestant's own process, user and system. */
  readonly cpu_us_per_sync: number;
  /** Only for contestants whose requests we can count. */
  readonly requests_per_sync?: number;
}
