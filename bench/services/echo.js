import { randomUUID } from 'node:crypto';
import { readSettings, serve } from './http-service.js';

/** The ceiling of a receiver: HTTP and the reading of the lead, and no I/O. */
/** @type {{ port: number }} */
const { port } = readSettings();
await serve(port, () => randomUUID());
