import type { BodyType, Note } from '@leadgate/contract';
import { isAddressKey } from './address.ts';
import { isAttributionKey } from './attribution.ts';
import { decodeFormText, isJsonInForm } from './body.ts';
import { isConsentKey } from './consent.ts';
import { isLeadKey } from './lead.ts';
import { isJsonObject, jsonText } from './reading.ts';

/** Characters of names and values of unknown keys that are kept of a body: several times what forms have. */
const KEPT_OF_UNKNOWN = 8_192;

/** Within these too, a sender may put keys of its own. */
const INNER: Readonly<Record<string, (key: string) => boolean>> = {
  address: isAddressKey,
  attribution: isAttributionKey,
  consent: isConsentKey,
};

interface BodyText {
  text: string;
  type: BodyType;
}

/**
 * What is kept of a body that was read: all of it, unless its unknown keys say more than 8 KiB. Those
 * that are beyond are left out, in the order they stand in. Fields, and custom fields by whatever
 * name, always stay.
 *
 * @param value the body as it was parsed
 */
export function keptBody({ text, type }: BodyText, value: unknown): BodyText & { notes: Note[] } {
  const whole = { text, type, notes: [] };
  if (text.length <= KEPT_OF_UNKNOWN || !isJsonObject(value)) return whole;
  const room = new Room();
  const kept = type === 'form' && !isJsonInForm(text) ? ofForm(text, room) : ofObject(value, room);
  if (room.dropped === 0) return whole;
  const note: Note = {
    field: '',
    code: 'unknown-keys-dropped',
    detail: `${room.dropped} of them`,
  };
  if (typeof kept === 'string') return { text: kept, type, notes: [note] };
  const written = jsonText(kept);
  return written === null ? whole : { text: written, type: 'json', notes: [note] };
}

class Room {
  #left = KEPT_OF_UNKNOWN;
  dropped = 0;

  /** Whether there is room for so many characters; what there is none for is counted as dropped. */
  take(characters: number): boolean {
    const fits = characters <= this.#left;
    if (fits) this.#left -= characters;
    else this.dropped += 1;
    return fits;
  }
}

function ofObject(value: object, room: Room): object {
  const fits = (key: string, inner: unknown): boolean =>
    room.take(key.length + (jsonText(inner)?.length ?? Infinity));
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, inner]: [string, unknown]): [string, unknown][] => {
      const isKnown = Object.hasOwn(INNER, key) ? INNER[key] : undefined;
      if (isKnown !== undefined && isJsonObject(inner))
        return [
          [
            key,
            Object.fromEntries(Object.entries(inner).filter(([k, v]) => isKnown(k) || fits(k, v))),
          ],
        ];
      return isField(key) || fits(key, inner) ? [[key, inner]] : [];
    }),
  );
}

/** Whether a key is that of a field: `email`, `address.city`, `address[city]`, any custom field. */
function isField(key: string): boolean {
  const [outer = '', inner = ''] = key.split(/[[\].]+/, 2);
  const isKnown = Object.hasOwn(INNER, outer) ? INNER[outer] : undefined;
  return isKnown !== undefined && inner !== '' ? isKnown(inner) : isLeadKey(outer);
}

function ofForm(text: string, room: Room): string {
  return text
    .split('&')
    .filter((pair) => {
      const name = decodeFormText(pair.split('=', 1)[0] ?? '').text;
      return isField(name) || room.take(pair.length);
    })
    .join('&');
}
