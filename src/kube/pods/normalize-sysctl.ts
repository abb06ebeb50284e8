/** `net/ipv4/x` is `net.ipv4.x`; a name whose first separator is a dot stays. Source: component-helpers `NormalizeName`. */
export function normalizeSysctl(name: string): string {
  if (!/^[^./]*\//.test(name)) return name;
  return name.replaceAll(/[./]/g, (separator) => (separator === '.' ? '/' : '.'));
}
