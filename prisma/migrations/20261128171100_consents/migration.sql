-- What people granted, refused and withdrew. The proof outlives the submission that brought it.
CREATE TABLE consent (
  submission_id uuid PRIMARY KEY,
  workspace_id uuid NOT NULL,
  -- As the submission's: the lead it was reserved for, or the part of a lead that it is in now.
  lead_id uuid NOT NULL,
  link_id uuid NOT NULL,
  action text NOT NULL CHECK (action IN ('granted', 'refused', 'withdrawn')),
  -- The words as they were shown, and their name.
  text text,
  text_version text,
  -- Of words that say something of a person who was erased, this stays.
  text_sha256 text,
  text_version_sha256 text,
  -- BCP 47, as the page said it.
  language text,
  page text,
  user_agent text,
  address text,
  -- Microseconds since 1970, as the submission's.
  stamp bigint NOT NULL,
  recorded_at timestamptz NOT NULL DEFAULT now(),
  -- When what is about the person went.
  erased_at timestamptz
);
CREATE INDEX consent_lead_id_idx ON consent (workspace_id, lead_id);
CREATE INDEX consent_erased_at_idx ON consent (erased_at) WHERE erased_at IS NOT NULL;

-- What was shown and said stays as it is. An erasure takes out what is about the person, and leaves of
-- a text at least its digest; a split moves it to another lead.
CREATE FUNCTION keep_consent() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF (NEW.submission_id, NEW.workspace_id, NEW.link_id, NEW.action, NEW.stamp, NEW.recorded_at)
     IS DISTINCT FROM
     (OLD.submission_id, OLD.workspace_id, OLD.link_id, OLD.action, OLD.stamp, OLD.recorded_at)
     OR OLD.erased_at IS NOT NULL AND NEW.erased_at IS DISTINCT FROM OLD.erased_at
     OR NEW.language IS DISTINCT FROM OLD.language
     OR NEW.page <> OLD.page OR OLD.page IS NULL AND NEW.page IS NOT NULL
     OR NEW.user_agent <> OLD.user_agent OR OLD.user_agent IS NULL AND NEW.user_agent IS NOT NULL
     OR NEW.address <> OLD.address OR OLD.address IS NULL AND NEW.address IS NOT NULL
     OR NEW.text IS DISTINCT FROM OLD.text
        AND (NEW.text IS NOT NULL OR NEW.text_sha256 IS DISTINCT FROM
          encode(sha256(convert_to(OLD.text, 'UTF8')), 'hex'))
     OR NEW.text_version IS DISTINCT FROM OLD.text_version
        AND (NEW.text_version IS NOT NULL
          OR NEW.text_version_sha256 IS DISTINCT FROM
            encode(sha256(convert_to(OLD.text_version, 'UTF8')), 'hex'))
     OR OLD.text_sha256 IS NOT NULL AND NEW.text_sha256 IS DISTINCT FROM OLD.text_sha256
     OR OLD.text_version_sha256 IS NOT NULL AND NEW.text_version_sha256 IS DISTINCT FROM OLD.text_version_sha256
  THEN RAISE 'a consent stays as it was recorded' USING ERRCODE = 'insufficient_privilege';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER keep_consent BEFORE UPDATE ON consent
  FOR EACH ROW EXECUTE FUNCTION keep_consent();

-- How far the consents of submissions that were there before were copied by the workers, in batches.
CREATE TABLE consent_fill (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  after uuid NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000',
  filled_at timestamptz
);
INSERT INTO consent_fill DEFAULT VALUES;
