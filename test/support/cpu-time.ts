/** Milliseconds that this process has computed: unlike the time of day, they stand still while others have the processor. */
export function cpuTime(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}
