/** A tenant: it owns capture links, custom fields and leads. */
export interface Workspace {
  id: string;
  /** Unique. */
  name: string;
  /** ISO 3166-1 alpha-2, upper case: the country of phone numbers without a country code. */
  country: string;
  /** Phones (E.164) that identify nobody. */
  dummyPhones: string[];
  createdAt: Date;
}
