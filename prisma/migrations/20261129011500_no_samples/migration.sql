-- ANALYZE keeps samples of values with what it knows of a column: of a person who was erased, for weeks. No
-- index and no plan rests on what is known of these columns.
DO $$
DECLARE
  one record;
BEGIN
  FOR one IN
    SELECT a.attrelid::regclass AS tab, a.attname AS col, format_type(a.atttypid, a.atttypmod) AS type
    FROM (VALUES
      ('lead', '{email,name,telephone,telephone_e164,document,profession,city,state,instagram,birthday}'),
      ('lead', '{address,provenance,first_touch,last_touch,custom_fields}'),
      ('identity', '{key}'),
      ('submission', '{identities,lead,notes,consent,body,page,user_agent,address}'),
      ('consent', '{text,text_version,page,user_agent,address}'),
      ('rejected_submission', '{errors,body,page,user_agent,address,mended_body}'),
      ('held_submission', '{content}'),
      ('discarded_submission', '{failure,content}'),
      ('run', '{parameters,problem,file_name,file}')
    ) AS personal (tab, cols), unnest(cols::text[]) AS col
    JOIN pg_attribute a ON a.attname = col
    WHERE a.attrelid = to_regclass(personal.tab)
  LOOP
    EXECUTE format('ALTER TABLE %s ALTER COLUMN %I SET STATISTICS 0', one.tab, one.col);
    -- The type that it has: nothing is rewritten, and what was known of the column goes.
    EXECUTE format('ALTER TABLE %s ALTER COLUMN %I TYPE %s', one.tab, one.col, one.type);
  END LOOP;
END $$;

-- As before, and a partition keeps no samples of what its table keeps none of.
CREATE OR REPLACE FUNCTION make_partition(whole text, part text, lowest uuid, above uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
  col name;
BEGIN
  IF whole NOT IN ('submission', 'rejected_submission') OR part !~ ('^' || whole || '_(past|\d{4}_\d{2})$')
  THEN RAISE '% is no partition of %', part, whole;
  END IF;
  EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING ALL)', part, whole);
  FOR col IN SELECT attname FROM pg_attribute
    WHERE attrelid = to_regclass(quote_ident(whole)) AND attnum > 0 AND attstattarget = 0 LOOP
    EXECUTE format('ALTER TABLE %I ALTER COLUMN %I SET STATISTICS 0', part, col);
  END LOOP;
  -- What came while there was no such partition, before the first worker started, moves along.
  EXECUTE format(
    'WITH moved AS (DELETE FROM %I WHERE ($1 IS NULL OR id >= $1) AND id < $2 RETURNING *)
     INSERT INTO %I SELECT * FROM moved', whole || '_default', part) USING lowest, above;
  -- Attaching locks the default partition, which is not in use, and lets the table be read and
  -- written; CREATE TABLE … PARTITION OF would lock all of it.
  EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%s) TO (%L)',
    whole, part, coalesce(quote_literal(lowest), 'MINVALUE'), above);
END $$;
