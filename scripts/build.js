import { prepare } from './prepare.js';
import { runMain } from './run-main.js';

await runMain(() => prepare());
