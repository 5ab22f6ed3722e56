declare module 'fs-native-extensions' {
  /**
   * Locks a whole file without waiting; false where somebody else holds it. On Linux an open file
   * description lock (fcntl F_OFD_SETLK): held until the descriptor is closed, by the kernel at the
   * latest when the process ends.
   */
  export function tryLock(fd: number): boolean;
}
