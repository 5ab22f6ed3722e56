-- The zone of times that do not say theirs (IANA).
ALTER TABLE workspace ADD COLUMN time_zone text NOT NULL DEFAULT 'UTC';
UPDATE workspace SET time_zone = 'America/Sao_Paulo' WHERE country = 'BR';

-- The telephone of a lead with its country (E.164), beside its digits as sent; null where they are no
-- valid number.
ALTER TABLE lead ADD COLUMN telephone_e164 text;
