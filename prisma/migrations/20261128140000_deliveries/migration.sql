-- Rises by one with each commit that changes what people see of a lead: what was told of it is told from what
-- is newer. Leads that are there are at their first; the row of a new one is made before its first commit.
ALTER TABLE lead ADD COLUMN version integer NOT NULL DEFAULT 1;
ALTER TABLE lead ALTER COLUMN version SET DEFAULT 0;

-- An address that is told of changed leads.
CREATE TABLE endpoint (
  id uuid PRIMARY KEY,
  workspace_id uuid NOT NULL REFERENCES workspace (id),
  name text NOT NULL,
  url text NOT NULL,
  -- JSON, and the secrets messages are signed with: encrypted. Names of headers are shown, values are not.
  headers bytea,
  header_names text[] NOT NULL DEFAULT '{}',
  secret bytea NOT NULL,
  old_secret bytea,
  old_secret_until timestamptz,
  events text[] NOT NULL
    CHECK (events <@ ARRAY['lead.created', 'lead.updated', 'lead.merged'] AND events <> '{}'),
  -- Told of the leads that came by one of these links; none: by any.
  link_ids uuid[] NOT NULL DEFAULT '{}',
  -- Sends a second; none: no limit.
  per_second double precision CHECK (per_second > 0),
  concurrency integer NOT NULL CHECK (concurrency > 0),
  state text NOT NULL DEFAULT 'active' CHECK (state IN ('active', 'paused', 'disabled')),
  -- Why it was disabled.
  reason text,
  created_at timestamptz NOT NULL DEFAULT now(),
  -- The deliverer that sends to it, for so long.
  lane_owner uuid,
  lane_until timestamptz,
  -- Failures since the last success, when the first of them was, and until when it is left alone.
  failures integer NOT NULL DEFAULT 0,
  failing_since timestamptz,
  quiet_until timestamptz,
  delivered_at timestamptz,
  -- A test that was asked for and not sent yet.
  test_id uuid,
  UNIQUE (workspace_id, name)
) WITH (fillfactor = 50);

-- What each endpoint knows of each lead, and what it is to be told. No foreign key: that an endpoint is removed
-- must not fail a transaction that applies leads.
CREATE TABLE delivery (
  endpoint_id uuid NOT NULL,
  lead_id uuid NOT NULL,
  workspace_id uuid NOT NULL,
  event text NOT NULL CHECK (event IN ('lead.created', 'lead.updated', 'lead.merged')),
  -- The version that it is to be told, or was told.
  version integer NOT NULL,
  -- When it is told next; none: nothing waits.
  due_at timestamptz,
  attempts integer NOT NULL DEFAULT 0,
  failing_since timestamptz,
  -- Set aside, as it failed for days while others did not.
  failed_at timestamptz,
  delivered_version integer NOT NULL DEFAULT 0,
  delivered_at timestamptz,
  resends integer NOT NULL DEFAULT 0,
  PRIMARY KEY (endpoint_id, lead_id)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX delivery_due_idx ON delivery (endpoint_id, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX delivery_failed_idx ON delivery (endpoint_id, failed_at) WHERE failed_at IS NOT NULL;

-- Every try, for two weeks. No personal data: answers are kept in part, without what they repeat.
CREATE TABLE delivery_attempt (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at timestamptz NOT NULL DEFAULT now(),
  endpoint_id uuid NOT NULL,
  -- None: a test.
  lead_id uuid,
  version integer,
  event text NOT NULL,
  message_id text NOT NULL,
  outcome text NOT NULL CHECK (outcome IN
    ('delivered', 'answered', 'refused', 'timeout', 'no-connection', 'broken-answer')),
  status integer,
  detail text NOT NULL DEFAULT '',
  duration_ms integer NOT NULL
);
CREATE INDEX delivery_attempt_endpoint_id_idx ON delivery_attempt (endpoint_id, id);
CREATE INDEX delivery_attempt_lead_id_idx ON delivery_attempt (lead_id, id);
CREATE INDEX delivery_attempt_at_idx ON delivery_attempt USING brin (at);
