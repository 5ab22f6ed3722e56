-- Security keys and passkeys (WebAuthn), each for the host name of the console that it was added on.
CREATE TABLE security_key (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  operator_id uuid NOT NULL REFERENCES operator (id) ON DELETE CASCADE,
  name text NOT NULL,
  -- As the authenticator names it, base64url.
  credential_id text NOT NULL UNIQUE,
  rp_id text NOT NULL,
  public_key bytea NOT NULL,
  -- How often it was used, as it counts itself; many say 0 always.
  counter bigint NOT NULL,
  transports text[] NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  last_used_at timestamptz
);
CREATE INDEX security_key_operator_id_idx ON security_key (operator_id);

-- What a key is asked to sign, as SHA-256: taken once, and soon too old.
CREATE TABLE key_challenge (
  challenge_hash bytea PRIMARY KEY,
  operator_id uuid NOT NULL REFERENCES operator (id) ON DELETE CASCADE,
  -- Sign-in: whoever has it typed the right name and password.
  purpose text NOT NULL CHECK (purpose IN ('add', 'sign-in')),
  expires_at timestamptz NOT NULL
);
CREATE INDEX key_challenge_operator_id_idx ON key_challenge (operator_id);
