export type CustomValue = string | number | boolean | string[];

/** What ad platforms need back to count a conversion, and where the click led. */
export interface Attribution {
  gclid?: string;
  gbraid?: string;
  wbraid?: string;
  fbclid?: string;
  fbc?: string;
  fbp?: string;
  ttclid?: string;
  msclkid?: string;
  liFatId?: string;
  twclid?: string;
  landingPage?: string;
  referrer?: string | undefined;
  /** ISO 8601. */
  clickedAt?: string;
}

/** Where a lead came from: what belongs together. */
export interface Touch {
  utmSource?: string;
  utmMedium?: string;
  utmCampaign?: string;
  utmContent?: string;
  utmTerm?: string;
  attribution?: Attribution;
}

export interface Address {
  street?: string;
  number?: string | number;
  complement?: string;
  neighborhood?: string;
  city?: string;
  state?: string;
  zipCode?: string | number;
  country?: string;
}

/** What was agreed to. Counts as given only if `given` says so. */
export interface Consent {
  given: boolean;
  text?: string;
  textVersion?: string;
  /** Of those words: `pt-BR`. */
  language?: string;
}

/** The body of `POST /ingest/{link}`. Every field is optional; a blank one counts as not sent. */
export interface Lead extends Touch {
  email?: string;
  name?: string;
  /** With or without punctuation: the service keeps the digits. */
  telephone?: string | number;
  /** CPF or CNPJ, with or without punctuation. */
  document?: string | number;
  profession?: string;
  city?: string;
  /** A UF, or the name of a state. */
  state?: string;
  instagram?: string;
  /** YYYY-MM-DD. */
  birthday?: string;
  address?: Address;
  consent?: Consent;
  /** By the custom field's name, label or id. */
  customFields?: { [key: string]: CustomValue };
}
