-- Times of submissions are microseconds since 1970 in bigint columns: they are compared and
-- joined, never calculated with. Everything an operator reads as a date is timestamptz.

CREATE TABLE workspace (
  id uuid PRIMARY KEY,
  name text NOT NULL UNIQUE,
  country text NOT NULL DEFAULT 'BR',
  dummy_phones text[] NOT NULL DEFAULT '{}',
  created_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE custom_field (
  id uuid PRIMARY KEY,
  workspace_id uuid NOT NULL REFERENCES workspace (id),
  name text NOT NULL,
  label text NOT NULL,
  type text NOT NULL CHECK (type IN ('text', 'number', 'boolean', 'date', 'select', 'multi-select')),
  options text[] NOT NULL DEFAULT '{}',
  archived_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (workspace_id, name)
);

CREATE TABLE capture_link (
  id uuid PRIMARY KEY,
  workspace_id uuid NOT NULL REFERENCES workspace (id),
  label text NOT NULL DEFAULT '',
  state text NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'disabled')),
  mode text NOT NULL DEFAULT 'strict' CHECK (mode IN ('strict', 'lenient')),
  require_identity boolean NOT NULL DEFAULT false,
  origins text[] NOT NULL DEFAULT '{}',
  allow_servers boolean NOT NULL DEFAULT true,
  redirect_url text,
  link_limit integer CHECK (link_limit > 0),
  address_limit integer CHECK (address_limit > 0),
  honeypot text,
  min_fill_ms integer CHECK (min_fill_ms > 0),
  captcha_url text,
  captcha_secret text,
  captcha_fail text NOT NULL DEFAULT 'open' CHECK (captcha_fail IN ('open', 'closed')),
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX capture_link_workspace_id_idx ON capture_link (workspace_id);

-- A link has one code, and after a rotation its old ones until they expire.
CREATE TABLE capture_code (
  code text PRIMARY KEY,
  link_id uuid NOT NULL REFERENCES capture_link (id),
  expires_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX capture_code_link_id_idx ON capture_code (link_id);

-- Whatever changes an entry of the link directory counts this up in the same transaction, so that
-- the worker sees when Redis is behind.
CREATE TABLE directory_revision (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  revision bigint NOT NULL
);
INSERT INTO directory_revision (revision) VALUES (1);

CREATE FUNCTION count_up_directory_revision() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE directory_revision SET revision = revision + 1;
  RETURN NULL;
END
$$;
CREATE TRIGGER capture_link_revision AFTER INSERT OR UPDATE OR DELETE ON capture_link
  FOR EACH STATEMENT EXECUTE FUNCTION count_up_directory_revision();
CREATE TRIGGER capture_code_revision AFTER INSERT OR UPDATE OR DELETE ON capture_code
  FOR EACH STATEMENT EXECUTE FUNCTION count_up_directory_revision();
CREATE TRIGGER workspace_revision AFTER INSERT OR UPDATE OR DELETE ON workspace
  FOR EACH STATEMENT EXECUTE FUNCTION count_up_directory_revision();

-- A row is made once for every lead id and never deleted. With merged_into it is an alias: an id
-- that was handed out and stands for another lead. Aliases point at the lead itself, never at
-- another alias.
CREATE TABLE lead (
  workspace_id uuid NOT NULL,
  id uuid NOT NULL,
  merged_into uuid,
  email text,
  name text,
  telephone text,
  document text,
  profession text,
  city text,
  state text,
  instagram text,
  birthday date,
  address jsonb NOT NULL DEFAULT '{}',
  -- A list of [submission id, stamp, order, path, …]: the fields that each submission set.
  provenance jsonb NOT NULL DEFAULT '[]',
  -- {values, submissionId, stamp, order}
  first_touch jsonb,
  last_touch jsonb,
  creator_id uuid,
  creator_order bigint,
  -- Custom field id to value; those of the creator.
  custom_fields jsonb NOT NULL DEFAULT '{}',
  -- Set when the lead was erased: what reaches this id with a stamp up to it is dropped.
  erased_order bigint,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (workspace_id, id)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX lead_merged_into_idx ON lead (workspace_id, merged_into) WHERE merged_into IS NOT NULL;

-- One owner a key, by primary key.
CREATE TABLE identity (
  workspace_id uuid NOT NULL,
  key text NOT NULL,
  lead_id uuid NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (workspace_id, key)
);
CREATE INDEX identity_lead_id_idx ON identity (workspace_id, lead_id, key);

-- The immutable log of what was accepted. No foreign key to lead: it is written first.
-- Partitioned by its time-ordered id, so that old parts can be dropped as a whole: the worker makes
-- the months.
CREATE TABLE submission (
  id uuid NOT NULL,
  workspace_id uuid NOT NULL,
  link_id uuid NOT NULL,
  lead_id uuid NOT NULL,
  answered_lead_id uuid,
  "order" bigint NOT NULL,
  stamp bigint NOT NULL,
  source text NOT NULL CHECK (source IN ('post', 'import')),
  -- [[key, owner or null], …] as the reservation gave them.
  identities jsonb NOT NULL,
  lead jsonb NOT NULL,
  notes jsonb NOT NULL DEFAULT '[]',
  -- {given, text, textVersion} as sent; when and where is the submission's own.
  consent jsonb,
  body text NOT NULL,
  body_type text NOT NULL CHECK (body_type IN ('json', 'form')),
  page text,
  user_agent text,
  address text,
  request_id text,
  applied_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (id)
) PARTITION BY RANGE (id);
CREATE TABLE submission_default PARTITION OF submission DEFAULT;
CREATE INDEX submission_lead_id_idx ON submission (workspace_id, lead_id);
-- The highest order of a workspace, and its submissions from the newest.
CREATE INDEX submission_order_idx ON submission (workspace_id, "order");

-- Two leads that one submission named at once: email said one, phone the other. lead_a < lead_b.
CREATE TABLE possible_duplicate (
  workspace_id uuid NOT NULL,
  lead_a uuid NOT NULL,
  lead_b uuid NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (workspace_id, lead_a, lead_b),
  CHECK (lead_a < lead_b)
);

-- What an erasure leaves: keyed hashes of the identities, never the identities.
CREATE TABLE tombstone (
  workspace_id uuid NOT NULL,
  identity_hash bytea NOT NULL,
  lead_id uuid NOT NULL,
  erased_order bigint NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (workspace_id, identity_hash, lead_id)
);

-- Bodies of a known link that were refused, moved here from Redis. Partitioned as submissions are.
CREATE TABLE rejected_submission (
  id uuid NOT NULL,
  workspace_id uuid NOT NULL,
  link_id uuid NOT NULL,
  -- Microseconds since 1970, the receiver's clock.
  stamp bigint NOT NULL,
  code text NOT NULL,
  errors jsonb NOT NULL DEFAULT '[]',
  body text NOT NULL,
  body_type text NOT NULL CHECK (body_type IN ('json', 'form')),
  page text,
  user_agent text,
  address text,
  created_at timestamptz NOT NULL DEFAULT now(),
  -- What an operator made of the body, which itself stays as it was sent.
  mended_body text,
  mended_body_type text CHECK (mended_body_type IN ('json', 'form')),
  mended_at timestamptz,
  -- The submission that it became after all.
  submission_id uuid,
  replayed_at timestamptz,
  PRIMARY KEY (id)
) PARTITION BY RANGE (id);
CREATE TABLE rejected_submission_default PARTITION OF rejected_submission DEFAULT;
CREATE INDEX rejected_submission_link_id_idx ON rejected_submission (link_id, id);

-- Failed jobs that an operator gave up, with all they carried: each is somebody's lead.
CREATE TABLE discarded_submission (
  job_id text NOT NULL,
  discarded_at timestamptz NOT NULL DEFAULT now(),
  -- The operator's.
  reason text NOT NULL,
  -- The job's last failure.
  failure text NOT NULL,
  -- Null where the job could not be read.
  submission_id uuid,
  workspace_id uuid,
  link_id uuid,
  -- The submission as the job carried it; where it could not be read, the job's data.
  content jsonb NOT NULL,
  PRIMARY KEY (job_id, discarded_at)
);

-- Submissions that were caught as spam: answered with an id, not applied until released.
CREATE TABLE held_submission (
  id uuid PRIMARY KEY,
  workspace_id uuid NOT NULL,
  link_id uuid NOT NULL,
  reason text NOT NULL,
  state text NOT NULL DEFAULT 'held' CHECK (state IN ('held', 'released', 'discarded')),
  -- The submission as it came.
  content jsonb NOT NULL,
  decided_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX held_submission_state_idx ON held_submission (state, id);
CREATE INDEX held_submission_link_id_idx ON held_submission (link_id, id);

-- Who may use the console. Names are in the audit log by value, so that a row can go.
CREATE TABLE operator (
  id uuid PRIMARY KEY,
  name text NOT NULL UNIQUE,
  role text NOT NULL CHECK (role IN ('viewer', 'operator')),
  -- scrypt, with its parameters and salt.
  password_hash text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now()
);

-- Secrets are kept as SHA-256: they are long and random, there is nothing to guess.
CREATE TABLE operator_session (
  token_hash bytea PRIMARY KEY,
  operator_id uuid NOT NULL REFERENCES operator (id) ON DELETE CASCADE,
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL
);
CREATE INDEX operator_session_operator_id_idx ON operator_session (operator_id);
CREATE INDEX operator_session_expires_at_idx ON operator_session (expires_at);

CREATE TABLE api_token (
  id uuid PRIMARY KEY,
  name text NOT NULL,
  role text NOT NULL CHECK (role IN ('viewer', 'operator')),
  token_hash bytea NOT NULL UNIQUE,
  created_at timestamptz NOT NULL DEFAULT now(),
  -- To the minute.
  last_used_at timestamptz,
  revoked_at timestamptz
);
CREATE UNIQUE INDEX api_token_name_idx ON api_token (name) WHERE revoked_at IS NULL;

-- The one-time code that makes the first operator.
CREATE TABLE first_code (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  code_hash bytea NOT NULL,
  expires_at timestamptz NOT NULL
);

-- Slows sign-ins down. Names and addresses are folded into 65,536 buckets each, so that it stays
-- small whatever is tried, and holds neither.
CREATE TABLE sign_in_attempt (
  bucket text PRIMARY KEY,
  attempts integer NOT NULL,
  last_at timestamptz NOT NULL,
  free_at timestamptz NOT NULL
);

-- Who did what, when, to what: ids and names of operators, no personal data of leads.
CREATE TABLE audit_entry (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at timestamptz NOT NULL DEFAULT now(),
  actor_kind text NOT NULL CHECK (actor_kind IN ('operator', 'token', 'code', 'command-line')),
  actor_name text NOT NULL,
  action text NOT NULL,
  subject jsonb NOT NULL DEFAULT '{}',
  -- Written before the action; null where the process went away in the middle of it.
  outcome text CHECK (outcome IN ('done', 'refused', 'failed')),
  request_id text
);
