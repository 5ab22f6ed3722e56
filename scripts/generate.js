import { generate } from './prepare.js';
import { runMain } from './run-main.js';

await runMain(() => generate());
