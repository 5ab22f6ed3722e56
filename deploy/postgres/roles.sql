-- The roles of an installation, made once in an empty cluster, by a superuser, in the database of
-- Leadgate. Passwords are given after it (docker-compose: passwords.sh).
--   leadgate_owner  owns the tables: `leadgate migrate` and nothing else
--   leadgate_app    the processes and the command line: reads and writes rows. What it may do with
--                   each table is said by `leadgate migrate`
CREATE ROLE leadgate_owner LOGIN;
CREATE ROLE leadgate_app LOGIN;
REVOKE ALL ON SCHEMA public FROM PUBLIC;
ALTER SCHEMA public OWNER TO leadgate_owner;
GRANT USAGE ON SCHEMA public TO leadgate_app;
DO $$ BEGIN
  EXECUTE format('REVOKE ALL ON DATABASE %I FROM PUBLIC', current_database());
  EXECUTE format('GRANT CONNECT ON DATABASE %I TO leadgate_owner, leadgate_app', current_database());
END $$;
