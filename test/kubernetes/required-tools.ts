import { execFileSync, spawnSync } from 'node:child_process';
import { isAbsolute } from 'node:path';

/** The first that gets a newer Go where a module needs one. */
const oldestGo = { major: 1, minor: 21 };

/** What is missing to build programs, each with its package of Debian; empty if nothing is. */
export function missingTools({ needsC }: { readonly needsC: boolean }): string[] {
  return [whyNoGo(), ...(needsC ? [whyNoC()] : [])].filter((why) => why !== undefined);
}

function whyNoGo(): string | undefined {
  const { stdout } = spawnSync('go', ['env', 'GOVERSION'], { encoding: 'utf8', cwd: '/' });
  const [, major, minor] = /^go(\d+)\.(\d+)/.exec(stdout ?? '') ?? [];
  const wanted = `go ${oldestGo.major}.${oldestGo.minor} or newer (package: golang-go, or https://go.dev/dl)`;
  if (major === undefined) return wanted;
  const isOld = Number(major) === oldestGo.major && Number(minor) < oldestGo.minor;
  return isOld ? `${wanted}: this one is ${stdout.trim()}` : undefined;
}

function whyNoC(): string | undefined {
  try {
    // The name alone, if there is no such file.
    const library = execFileSync('gcc', ['-print-file-name=libc.a'], { encoding: 'utf8' }).trim();
    return isAbsolute(library) ? undefined : 'libc.a (package: libc6-dev)';
  } catch {
    return 'gcc (packages: gcc, libc6-dev)';
  }
}
