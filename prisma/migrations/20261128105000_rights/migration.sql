-- An entry of the audit log stays as it was written; how the action ended is added once.
CREATE FUNCTION keep_audit_entry() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'UPDATE' AND OLD.outcome IS NULL AND
     (OLD.id, OLD.at, OLD.actor_kind, OLD.actor_name, OLD.action, OLD.subject, OLD.request_id)
     IS NOT DISTINCT FROM
     (NEW.id, NEW.at, NEW.actor_kind, NEW.actor_name, NEW.action, NEW.subject, NEW.request_id)
  THEN RETURN NEW;
  END IF;
  RAISE 'the audit log is only added to' USING ERRCODE = 'insufficient_privilege';
END $$;
CREATE TRIGGER keep_audit_entry BEFORE UPDATE OR DELETE ON audit_entry
  FOR EACH ROW EXECUTE FUNCTION keep_audit_entry();
CREATE TRIGGER keep_audit_log BEFORE TRUNCATE ON audit_entry
  FOR EACH STATEMENT EXECUTE FUNCTION keep_audit_entry();

-- The application makes and drops partitions without owning the tables: these run as their owner.
CREATE FUNCTION make_partition(whole text, part text, lowest uuid, above uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
  IF whole NOT IN ('submission', 'rejected_submission') OR part !~ ('^' || whole || '_(past|\d{4}_\d{2})$')
  THEN RAISE '% is no partition of %', part, whole;
  END IF;
  EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING ALL)', part, whole);
  -- What came while there was no such partition, before the first worker started, moves along.
  EXECUTE format(
    'WITH moved AS (DELETE FROM %I WHERE ($1 IS NULL OR id >= $1) AND id < $2 RETURNING *)
     INSERT INTO %I SELECT * FROM moved', whole || '_default', part) USING lowest, above;
  -- Attaching locks the default partition, which is not in use, and lets the table be read and
  -- written; CREATE TABLE … PARTITION OF would lock all of it.
  EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%s) TO (%L)',
    whole, part, coalesce(quote_literal(lowest), 'MINVALUE'), above);
END $$;

CREATE FUNCTION drop_partition(whole text, part text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM pg_inherits
    WHERE inhparent = to_regclass(quote_ident(whole)) AND inhrelid = to_regclass(quote_ident(part)))
    OR part !~ '_\d{4}_\d{2}$'
  THEN RAISE '% is no partition of %', part, whole;
  END IF;
  EXECUTE format('DROP TABLE %I', part);
END $$;

REVOKE EXECUTE ON FUNCTION make_partition, drop_partition FROM PUBLIC;
