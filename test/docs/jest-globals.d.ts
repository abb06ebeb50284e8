/** What the example for Jest uses; Jest itself is not installed for it. */
declare module '@jest/globals' {
  export { afterEach, beforeEach, expect, it } from 'vitest';
}
