-- What series_rank has, a row for its three: comparing ten thousand links over a month reads a third of the rows.
CREATE TABLE series_ranking (
  workspace_id uuid NOT NULL,
  kind text NOT NULL CHECK (kind IN ('link', 'campaign', 'source')),
  span text NOT NULL CHECK (span IN ('day', 'month')),
  at date NOT NULL,
  subject uuid NOT NULL,
  accepted integer NOT NULL,
  created integer NOT NULL,
  updated integer NOT NULL,
  PRIMARY KEY (workspace_id, kind, span, at, subject)
) WITH (fillfactor = 80);

-- Workers of before write to series_rank: what they add goes on. Both go when none of them runs.
CREATE FUNCTION series_rank_goes_on() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  more integer := NEW.n - CASE TG_OP WHEN 'UPDATE' THEN OLD.n ELSE 0 END;
BEGIN
  INSERT INTO series_ranking VALUES (
    NEW.workspace_id, NEW.kind, NEW.span, NEW.at, NEW.subject,
    CASE NEW.what WHEN 'accepted' THEN more ELSE 0 END,
    CASE NEW.what WHEN 'created' THEN more ELSE 0 END,
    CASE NEW.what WHEN 'updated' THEN more ELSE 0 END)
  ON CONFLICT (workspace_id, kind, span, at, subject) DO UPDATE SET
    accepted = series_ranking.accepted + excluded.accepted,
    created = series_ranking.created + excluded.created,
    updated = series_ranking.updated + excluded.updated;
  RETURN NULL;
END $$;

-- Keeps writers out until the end of the transaction: nothing comes in between.
CREATE TRIGGER series_rank_goes_on AFTER INSERT OR UPDATE ON series_rank
  FOR EACH ROW EXECUTE FUNCTION series_rank_goes_on();

INSERT INTO series_ranking
SELECT workspace_id, kind, span, at, subject,
  coalesce(sum(n) FILTER (WHERE what = 'accepted'), 0),
  coalesce(sum(n) FILTER (WHERE what = 'created'), 0),
  coalesce(sum(n) FILTER (WHERE what = 'updated'), 0)
FROM series_rank GROUP BY 1, 2, 3, 4, 5;
