import { rolldown } from 'rolldown';
import config from '../rolldown.config.js';

/** The text of dist/capture.js, built afresh from the source: no test depends on an earlier build. */
export async function buildSnippet(): Promise<string> {
  const bundle = await rolldown(config);
  const { output } = await bundle.generate(config.output);
  await bundle.close();
  return output[0].code;
}
