-- That a lead was erased is an event of its own: up to now it was told as an update, to every endpoint.
ALTER TABLE endpoint DROP CONSTRAINT endpoint_events_check;
ALTER TABLE endpoint ADD CONSTRAINT endpoint_events_check CHECK (
  events <@ ARRAY['lead.created', 'lead.updated', 'lead.merged', 'lead.erased'] AND events <> '{}');
UPDATE endpoint SET events = events || '{lead.erased}';

ALTER TABLE delivery DROP CONSTRAINT delivery_event_check;
ALTER TABLE delivery ADD CONSTRAINT delivery_event_check CHECK (
  event IN ('lead.created', 'lead.updated', 'lead.merged', 'lead.erased'));
UPDATE delivery SET event = 'lead.erased'
FROM lead
WHERE lead.workspace_id = delivery.workspace_id AND lead.id = delivery.lead_id
  AND lead.erased_order IS NOT NULL AND delivery.event <> 'lead.erased';
