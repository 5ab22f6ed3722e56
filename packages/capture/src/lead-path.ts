const FIELD =
  /^(email|name|telephone|document|profession|city|state|instagram|birthday|utm(Source|Medium|Campaign|Content|Term))$/;

const CLICK_ID = /^(gclid|gbraid|wbraid|fbclid|fbc|fbp|ttclid|msclkid|twclid|liFatId)$/;

/** Names that start with `_`, tokens against forgery, and passwords shown as text. */
const CONTROL = /^_|[cx]srf|token|passw|senha/i;

/** A field of a lead, or `address`, `attribution`, `consent` or `customFields` and a key in it. */
export type LeadPath = [field: string, key?: string];

/**
 * Where the value of an input goes in a lead, by the input's name:
 *
 * - a lead field goes there: `email`, `utmSource`, and `utm_source` too;
 * - a click id goes to the attribution: `gclid`, and `li_fat_id` too;
 * - `address[city]` and `address.city` go to the address;
 * - `customFields[plan]` and `customFields.plan` go to the custom field `plan`;
 * - `consent[given]` and `consent[textVersion]` go to the consent;
 * - any other name is that of a custom field;
 * - nowhere (undefined): no name, a name that starts with `_`, and the names of passwords and of
 *   tokens against forgery. The answers of CAPTCHAs go, as the service asks for them.
 *
 * A trailing `[]` says that there may be several values, and is not part of the name.
 */
export function leadPath(inputName: string): LeadPath | undefined {
  const name = inputName.replace(/\[]$/, '');
  if (!name || CONTROL.test(name)) return undefined;
  const field = name
    .replace(/^utm_(.)/, (_, letter: string) => 'utm' + letter.toUpperCase())
    .replace(/^li_fat_id$/, 'liFatId');
  if (FIELD.test(field)) return [field];
  if (CLICK_ID.test(field)) return ['attribution', field];
  const [, group, key] = /^(address|attribution|consent|customFields)[[.](.+?)]?$/.exec(name) || [];
  return [group || 'customFields', key || name];
}

/** The JSON pointer (RFC 6901) of a path. */
export function pointerOf(path: LeadPath): string {
  return (path as string[])
    .map((step) => '/' + step.replace(/~/g, '~0').replace(/\//g, '~1'))
    .join('');
}
