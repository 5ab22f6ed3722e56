import type { Keyring } from '@leadgate/boot';
import { DESTINATIONS, DESTINATION_KINDS, messageId, type Destination } from '@leadgate/delivery';
import type { DueDelivery, Lane, LeadContent } from '@leadgate/store';

/**
 * What sends to the endpoint of a lane. Throws if its secrets were encrypted under another key, or it is of a
 * kind that this version does not know.
 */
export function openDestination(
  { endpointId, kind: wanted, url, mapping, headers, secrets }: Lane,
  keyring: Keyring,
): Destination {
  const kind = DESTINATION_KINDS.find((one) => one === wanted);
  if (kind === undefined) throw new Error(`unknown kind ${wanted}`);
  return DESTINATIONS[kind]({
    ...{ endpointId, url, mapping },
    headers:
      headers === null
        ? {}
        : (JSON.parse(keyring.open(headers).toString()) as Record<string, string>),
    secrets: secrets.map((secret) => keyring.open(secret).toString()),
  });
}

/** The lead as it stands: under the same id for as long as it stands so. */
export function newsOf(
  endpointId: string,
  { leadId, event, resends, remoteId, lead }: DueDelivery,
): Parameters<Destination['lead']>[0] {
  const { version, updatedAt } = lead;
  const id = messageId({ endpointId, leadId, version, resends });
  return { id, leadId, event, version, timestamp: updatedAt, data: lead, remoteId };
}

const NO_VALUES = new Set(['leadId', 'workspaceId', 'createdAt', 'updatedAt']);

/** The values of a lead that an answer may repeat, and the words of its name. */
export function valuesOf(lead: LeadContent): string[] {
  const values: string[] = lead.name?.split(/\s+/) ?? [];
  JSON.stringify(lead, (name, value: unknown) => {
    if (NO_VALUES.has(name)) return undefined;
    if (typeof value === 'string') values.push(value);
    return value;
  });
  return values;
}
