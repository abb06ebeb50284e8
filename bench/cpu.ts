/** The processor time of this process so far. */
export function cpuMsOfThis(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}
