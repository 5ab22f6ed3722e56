import { Keyring, sealedIn } from '@leadgate/boot';
import type { ReceiverConfig } from './config.ts';

/** A secret of a link from what the directory holds; null if it was encrypted under a key that is not known here. */
export type OpenSecret = (stored: string) => string | null;

/** More than links have secrets, as a rule. */
const MOST_KEPT = 10_000;

/** Opens each secret once: posts come by the thousand. `onFailure` is told of those that cannot be opened. */
export function secretOpener(
  { SECRETS_KEY, SECRETS_KEY_BEFORE }: Pick<ReceiverConfig, 'SECRETS_KEY' | 'SECRETS_KEY_BEFORE'>,
  onFailure: (failure: 'secret-not-read', error: unknown) => void,
): OpenSecret {
  const keyring =
    SECRETS_KEY === undefined ? null : new Keyring(SECRETS_KEY, { before: SECRETS_KEY_BEFORE });
  const opened = new Map<string, string>();
  return (stored) => {
    // Of before secrets were encrypted.
    if (sealedIn(stored) === null) return stored;
    const known = opened.get(stored);
    if (known !== undefined) return known;
    try {
      if (keyring === null) throw new Error('SECRETS_KEY is not set');
      const secret = keyring.openText(stored);
      if (opened.size >= MOST_KEPT) opened.clear();
      opened.set(stored, secret);
      return secret;
    } catch (error) {
      onFailure('secret-not-read', error);
      return null;
    }
  };
}
