import type { Preset } from './preset.ts';
import { byLabel, marksIn } from './preset.ts';

/**
 * Forms of WordPress that send their fields by name at the top.
 *
 * Contact Form 7 through CF7 to Webhook: JSON of the form's tags by their names, or by the option `webhook:` of a tag.
 * https://github.com/mariovalney/cf7-to-zapier (README, modules/cf7/class-module-cf7.php)
 *
 * WPForms' Webhooks addon, as JSON or as a form: the keys that its Request Body names, each with the value of a field
 * or a text with smart tags, `{entry_id}` among them; a date is an object (`value`, `unix`). Its Process class,
 * `fill_http_body_params`; https://wpforms.com/docs/how-to-install-and-use-the-webhooks-addon-with-wpforms/
 */
const byName: Preset = { rules: { ...byLabel(), ...marksIn('$') }, rest: 'custom-fields' };

export const contactForm7: Preset = byName;
export const wpforms: Preset = {
  ...byName,
  rules: { ...byName.rules, externalId: ['$.entry_id'] },
};
