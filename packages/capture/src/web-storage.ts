const KEY = 'leadgate';

/**
 * Our value in the browser's storage. Never throws: storage that is blocked (a sandboxed frame,
 * cookies refused) or holds something that is not JSON reads as undefined.
 */
export function readStored(area: 'localStorage' | 'sessionStorage'): unknown {
  try {
    return JSON.parse(window[area].getItem(KEY)!);
  } catch {
    return undefined;
  }
}

/** Whether it could be written: storage may be blocked or full. */
export function writeStored(area: 'localStorage' | 'sessionStorage', value: unknown): boolean {
  try {
    window[area].setItem(KEY, JSON.stringify(value));
    return true;
  } catch {
    return false;
  }
}
