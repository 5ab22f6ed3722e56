export type CustomValue = string | number | boolean | string[];

/** The five marks of a touch, which belong together. */
export interface Touch {
  utmSource?: string;
  utmMedium?: string;
  utmCampaign?: string;
  utmContent?: string;
  utmTerm?: string;
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

/** What was agreed to. Counts as given only where `given` says so. */
export interface Consent {
  given: boolean;
  text?: string;
  textVersion?: string;
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
