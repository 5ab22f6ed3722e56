import type { LinkMapping, LinkProofView } from '@leadgate/contract';
import { elementor } from './elementor.ts';
import { googleLeadForm } from './google-lead-form.ts';
import { jotform } from './jotform.ts';
import type { Preset } from './preset.ts';
import { rdStation } from './rd-station.ts';
import { tally } from './tally.ts';
import { typeform } from './typeform.ts';
import { unbounce } from './unbounce.ts';
import { webflow } from './webflow.ts';
import { contactForm7, wpforms } from './wordpress.ts';

/** The rules for a sender, by its name. Each has bodies of its sender under `samples`. */
export const PRESETS = {
  'google-lead-form': googleLeadForm,
  typeform,
  elementor,
  webflow,
  tally,
  jotform,
  'contact-form-7': contactForm7,
  wpforms,
  'rd-station': rdStation,
  unbounce,
} satisfies Record<string, Preset>;

export const PRESET_NAMES = Object.keys(PRESETS) as (keyof typeof PRESETS)[];

/** The mapping of a preset, as a link holds it. */
export function presetMapping(name: keyof typeof PRESETS): LinkMapping {
  const { rules, rows, rest }: Preset = PRESETS[name];
  return {
    ...{ preset: name, rules },
    ...(rows !== undefined && { rows }),
    ...(rest !== undefined && { rest }),
  };
}

/** How a sender proves to be it; null if it cannot. */
export const presetProof = (name: keyof typeof PRESETS): LinkProofView | null => {
  const { proof }: Preset = PRESETS[name];
  return proof ?? null;
};
