/** The processor time of this process so far. */
export function cpuMsOfThis(): number {
  return msOf(process.cpuUsage());
}

/** That of the calling thread: without V8's compiler and garbage collector in other threads. Undefined before Node.js 23.9. */
export function mainThreadCPUMsOfThis(): number | undefined {
  const { threadCpuUsage } = process as { threadCpuUsage?: typeof process.cpuUsage };
  return threadCpuUsage && msOf(threadCpuUsage());
}

function msOf({ user, system }: NodeJS.CpuUsage): number {
  return (user + system) / 1000;
}
