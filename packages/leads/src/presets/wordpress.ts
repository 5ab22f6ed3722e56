import type { Preset } from './preset.ts';
import { byLabel, marksIn } from './preset.ts';

/**
 * Forms of WordPress that send their fields by name at the top: Contact Form 7 through a webhook plugin,
 * and WPForms' Webhooks addon, in which names are chosen.
 * https://wordpress.org/plugins/cf7-to-zapier/ and https://wpforms.com/docs/how-to-install-and-use-the-webhooks-addon-with-wpforms/
 */
const byName: Preset = { rules: { ...byLabel(), ...marksIn('$') }, rest: 'custom-fields' };

export const contactForm7: Preset = byName;
export const wpforms: Preset = {
  ...byName,
  rules: { ...byName.rules, externalId: ['$.entry_id'] },
};
