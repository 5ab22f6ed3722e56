import type { Keyring } from '@leadgate/boot';
import { DESTINATIONS, DESTINATION_KINDS, messageId, type Destination } from '@leadgate/delivery';
import type { DueDelivery, Lane } from '@leadgate/store';

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

/** The lead or the alarm as it stands, under the same id for as long as it stands so: what is sent of it. */
export function requestOf(
  destination: Destination,
  endpointId: string,
  due: DueDelivery,
): { id: string; request: ReturnType<Destination['lead']> } {
  const { leadId, event, resends, remoteIds, version } = due;
  const id = messageId({ endpointId, leadId, version, resends });
  const timestamp = due.changedAt;
  const request =
    due.lead === null
      ? destination.alarm({ id, event, timestamp, data: due.alarm })
      : destination.lead({ id, event, timestamp, data: due.lead, leadId, version, remoteIds });
  return { id, request };
}

const NO_VALUES = new Set(['leadId', 'workspaceId', 'createdAt', 'updatedAt']);

/** The values of a lead that an answer may repeat, and the words of its name. An alarm has none. */
export function valuesOf({ lead }: DueDelivery): string[] {
  if (lead === null) return [];
  const values: string[] = lead.name?.split(/\s+/) ?? [];
  JSON.stringify(lead, (name, value: unknown) => {
    if (NO_VALUES.has(name)) return undefined;
    if (typeof value === 'string') values.push(value);
    return value;
  });
  return values;
}
