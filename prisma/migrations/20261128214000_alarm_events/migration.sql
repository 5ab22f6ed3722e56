-- Alarms are events: endpoints are told of those that ask for them. A delivery is of a lead or of an alarm.
ALTER TABLE endpoint DROP CONSTRAINT endpoint_events_check;
ALTER TABLE endpoint ADD CONSTRAINT endpoint_events_check CHECK (
  events <@ ARRAY['lead.created', 'lead.updated', 'lead.merged', 'lead.erased', 'alarm.opened', 'alarm.closed']
  AND events <> '{}');

ALTER TABLE delivery DROP CONSTRAINT delivery_event_check;
ALTER TABLE delivery ADD CONSTRAINT delivery_event_check CHECK (event IN (
  'lead.created', 'lead.updated', 'lead.merged', 'lead.erased', 'alarm.opened', 'alarm.closed')) NOT VALID;
ALTER TABLE delivery VALIDATE CONSTRAINT delivery_event_check;
