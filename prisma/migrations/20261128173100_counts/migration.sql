-- What was counted and is not added up yet. Transactions that store append to it, so that none waits for a
-- row that others count in; workers add it up within seconds.
CREATE TABLE tally (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  workspace_id uuid NOT NULL,
  link_id uuid NOT NULL,
  -- The minute that it is counted in: of a post that of its id, so that a row and its count agree.
  at timestamptz NOT NULL,
  what text NOT NULL,
  -- utmSource, utmMedium and utmCampaign of the lead's last touch; null: not counted by campaign.
  utm text[],
  n integer NOT NULL
);

-- How far each stream of Redis was counted, and how far its submissions were looked after: moved in the
-- transaction that counts, so that a crash counts nothing twice.
CREATE TABLE ledger_cursor (
  stream text PRIMARY KEY,
  counted text NOT NULL DEFAULT '0-0',
  verified text NOT NULL DEFAULT '0-0'
);

-- Counts of a subject: a link, a campaign, a source of campaigns, or (under its own id) a workspace.
CREATE TABLE series_minute (
  subject uuid NOT NULL,
  at timestamptz NOT NULL,
  what text NOT NULL,
  n integer NOT NULL,
  PRIMARY KEY (subject, at, what)
) WITH (fillfactor = 80);
CREATE INDEX series_minute_at_idx ON series_minute USING brin (at);
CREATE TABLE series_hour (
  subject uuid NOT NULL,
  at timestamptz NOT NULL,
  what text NOT NULL,
  n integer NOT NULL,
  PRIMARY KEY (subject, at, what)
) WITH (fillfactor = 80);
CREATE INDEX series_hour_at_idx ON series_hour USING brin (at);
-- Days of the workspace's time zone, as it was then.
CREATE TABLE series_day (
  subject uuid NOT NULL,
  at date NOT NULL,
  what text NOT NULL,
  n integer NOT NULL,
  PRIMARY KEY (subject, at, what)
) WITH (fillfactor = 80);
CREATE INDEX series_day_at_idx ON series_day USING brin (at);

-- The same by days and months, for comparing the subjects of a workspace over a range.
CREATE TABLE series_rank (
  workspace_id uuid NOT NULL,
  kind text NOT NULL CHECK (kind IN ('link', 'campaign', 'source')),
  span text NOT NULL CHECK (span IN ('day', 'month')),
  at date NOT NULL,
  subject uuid NOT NULL,
  what text NOT NULL,
  n integer NOT NULL,
  PRIMARY KEY (workspace_id, kind, span, at, subject, what)
) WITH (fillfactor = 80);

-- What a subject of campaigns is called.
CREATE TABLE campaign (
  id uuid PRIMARY KEY,
  workspace_id uuid NOT NULL,
  kind text NOT NULL CHECK (kind IN ('campaign', 'source')),
  utm text[] NOT NULL
);
CREATE INDEX campaign_workspace_id_idx ON campaign (workspace_id);
