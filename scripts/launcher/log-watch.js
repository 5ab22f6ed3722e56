import {
  closeSync,
  existsSync,
  fstatSync,
  openSync,
  readSync,
  renameSync,
  statSync,
} from 'node:fs';
import { say } from '../prepare.js';

const LOOK_EVERY_MS = 500;
const LARGE_BYTES = 20 * 1024 * 1024;
/** Of pino: warnings and worse. */
const WARN = 40;

/**
 * Shows what an app writes to its log from now on, of what matters: its warnings and errors.
 * @param {string} name
 * @param {string} path
 * @returns {() => void} ends it, after a last look
 */
export function watchLog(name, path) {
  let position = existsSync(path) ? statSync(path).size : 0;
  let rest = '';
  const look = () => {
    if (!existsSync(path)) return;
    const file = openSync(path, 'r');
    try {
      const added = Buffer.alloc(Math.max(0, fstatSync(file).size - position));
      position += readSync(file, added, 0, added.length, position);
      const lines = (rest + added.toString()).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) show(name, line);
    } finally {
      closeSync(file);
    }
  };
  const timer = setInterval(look, LOOK_EVERY_MS);
  return () => {
    clearInterval(timer);
    look();
  };
}

/**
 * @param {string} name
 * @param {string} line
 */
function show(name, line) {
  if (!line.startsWith('{')) return;
  try {
    const { level, msg, err } = JSON.parse(line);
    if (level >= WARN) say(`${name}: ${msg}${err?.message ? ` (${err.message})` : ''}`);
  } catch {
    // Half a line of a process that was killed.
  }
}

/**
 * Puts a log that has grown large aside, once, so that logs do not fill the disk.
 * @param {string} path
 */
export function rotateLog(path) {
  if (existsSync(path) && statSync(path).size > LARGE_BYTES) renameSync(path, `${path}.1`);
}
