-- A role for all workspaces (none: null), and roles for single ones. Who could do everything still can.
ALTER TABLE operator DROP CONSTRAINT operator_role_check;
ALTER TABLE operator
  ALTER COLUMN role DROP NOT NULL,
  ADD CONSTRAINT operator_role_check CHECK (role IN ('viewer', 'operator', 'administrator')),
  -- Of the authenticator (RFC 6238), encrypted; pending until its first code was typed. The step of the
  -- last code: none is taken twice.
  ADD COLUMN totp_secret bytea,
  ADD COLUMN totp_pending bytea,
  ADD COLUMN totp_step integer NOT NULL DEFAULT 0;
UPDATE operator SET role = 'administrator' WHERE role = 'operator';

CREATE TABLE operator_workspace (
  operator_id uuid NOT NULL REFERENCES operator (id) ON DELETE CASCADE,
  workspace_id uuid NOT NULL REFERENCES workspace (id),
  role text NOT NULL CHECK (role IN ('viewer', 'operator', 'administrator')),
  PRIMARY KEY (operator_id, workspace_id)
);

-- A token is for one workspace or for all, says who made it, ends, and goes with its maker.
ALTER TABLE api_token DROP CONSTRAINT api_token_role_check;
ALTER TABLE api_token
  ADD CONSTRAINT api_token_role_check CHECK (role IN ('viewer', 'operator', 'administrator')),
  ADD COLUMN workspace_id uuid REFERENCES workspace (id),
  ADD COLUMN created_by text NOT NULL DEFAULT '',
  ADD COLUMN created_by_id uuid REFERENCES operator (id) ON DELETE SET NULL,
  ADD COLUMN expires_at timestamptz NOT NULL DEFAULT now() + interval '90 days';
UPDATE api_token SET role = 'administrator' WHERE role = 'operator';
CREATE INDEX api_token_created_by_id_idx ON api_token (created_by_id);

-- Sessions that nobody uses end; people see theirs, by an id that opens nothing.
ALTER TABLE operator_session
  ADD COLUMN id uuid NOT NULL DEFAULT gen_random_uuid(),
  ADD COLUMN last_used_at timestamptz NOT NULL DEFAULT now(),
  ADD COLUMN browser text NOT NULL DEFAULT '';
