-- What each change of the link directory changed, so that Redis and the receivers follow at the cost
-- of the change. The last thousand are kept; who is behind them reads all of it.
CREATE TABLE directory_change (
  revision bigint PRIMARY KEY,
  -- Null: too many to be told one by one.
  codes text[]
);
INSERT INTO directory_change SELECT revision, '{}' FROM directory_revision;

-- A revision is a time in microseconds, and above the one before: after a restore of an older dump no
-- number stands for another change than it did.
CREATE OR REPLACE FUNCTION count_up_directory_revision() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  most CONSTANT integer := 2000;
  changed_codes text[];
  counted bigint;
BEGIN
  IF TG_TABLE_NAME = 'capture_code' THEN
    changed_codes := ARRAY(SELECT code FROM changed LIMIT most + 1);
  ELSIF TG_TABLE_NAME = 'capture_link' THEN
    changed_codes := ARRAY(
      SELECT k.code FROM changed JOIN capture_code k ON k.link_id = changed.id LIMIT most + 1);
  ELSE
    changed_codes := ARRAY(
      SELECT k.code FROM changed
      JOIN capture_link l ON l.workspace_id = changed.id
      JOIN capture_code k ON k.link_id = l.id LIMIT most + 1);
  END IF;
  -- Locked until the transaction ends: changes are committed in the order of their revisions.
  UPDATE directory_revision SET revision =
    greatest(revision + 1, floor(extract(epoch FROM clock_timestamp()) * 1000000)::bigint)
  RETURNING revision INTO counted;
  INSERT INTO directory_change VALUES
    (counted, CASE WHEN cardinality(changed_codes) <= most THEN changed_codes END);
  DELETE FROM directory_change WHERE revision <=
    (SELECT revision FROM directory_change ORDER BY revision DESC OFFSET 1000 LIMIT 1);
  RETURN NULL;
END
$$;

-- A trigger that reads the changed rows is for one kind of statement.
DROP TRIGGER capture_link_revision ON capture_link;
DROP TRIGGER capture_code_revision ON capture_code;
DROP TRIGGER workspace_revision ON workspace;
DO $$
DECLARE
  changing text;
  kind text;
BEGIN
  FOREACH changing IN ARRAY ARRAY['capture_link', 'capture_code', 'workspace'] LOOP
    FOREACH kind IN ARRAY ARRAY['insert', 'update', 'delete'] LOOP
      EXECUTE format(
        'CREATE TRIGGER %I AFTER %s ON %I REFERENCING %s TABLE AS changed
         FOR EACH STATEMENT EXECUTE FUNCTION count_up_directory_revision()',
        changing || '_' || kind || '_revision', kind, changing,
        CASE kind WHEN 'delete' THEN 'OLD' ELSE 'NEW' END);
    END LOOP;
  END LOOP;
END
$$;
