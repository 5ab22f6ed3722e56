-- The link of the change that is told: what was delivered is counted by it. Null: a change by hand, or an alarm.
ALTER TABLE delivery ADD COLUMN link_id uuid;
