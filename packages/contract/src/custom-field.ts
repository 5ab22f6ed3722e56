/** The types a custom field can have. Not changed once the field holds values. */
export const CUSTOM_FIELD_TYPES = [
  'text',
  'number',
  'boolean',
  'date',
  'select',
  'multi-select',
] as const;
export type CustomFieldType = (typeof CUSTOM_FIELD_TYPES)[number];

/** A custom field of a workspace, as the worker resolves keys and values against it. */
export interface CustomField {
  id: string;
  workspaceId: string;
  name: string;
  label: string;
  type: CustomFieldType;
  /** The values a select or multi-select takes, in the order shown. */
  options: string[];
  /** An archived field keeps its values and takes no new ones. */
  archived: boolean;
}
