import type { Preset } from './preset.ts';
import { byLabel, marksIn, withEither } from './preset.ts';

const typed = (list: string, type: string) => `${list}[?@.type == '${type}'].value`;
const [english, portuguese] = ['No Label ', 'Sem rótulo '];
const advanced = byLabel('$.fields', '.value');
const labels = withEither(
  byLabel(),
  withEither(byLabel('$', '', english), byLabel('$', '', portuguese)),
);

/**
 * Action Webhook of Elementor Pro, a form. With Advanced Data: `form`, `fields` by their ids (type, title, value,
 * raw_value) and `meta`. Without: values by the labels of fields; what has no label is `No Label` and its id, in the
 * site's language. The page is in it only if the form sends an email with that metadata.
 * https://github.com/elementor/elementor/issues/3389 (by labels), /27399 (without labels), /11086 (metadata);
 * `get_formatted_data` in Elementor Pro's modules/forms/classes/form-record.php, `run` in actions/webhook.php.
 */
export const elementor: Preset = {
  rules: {
    ...withEither(advanced, labels),
    email: [typed('$.fields', 'email'), ...advanced.email, ...labels.email],
    telephone: [typed('$.fields', 'tel'), ...advanced.telephone, ...labels.telephone],
    ...withEither(
      marksIn('$.fields', '.value'),
      withEither(marksIn('$'), withEither(marksIn('$', '', english), marksIn('$', '', portuguese))),
    ),
    'attribution.landingPage': ['$.meta.page_url.value', "$['Page URL']"],
  },
  rest: 'custom-fields',
};
