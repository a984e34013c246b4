/**
 * The tables and functions of a team's database, made once by its owner. Workers call functions and read; they own nothing.
 *
 * Invariants
 * 1. `append` locks the run's row: numbers have no gaps and are in the order of commits, so who reads on from a number
 *    never skips one.
 * 2. Only the database's clock stamps, and never earlier than the event before.
 * 3. A batch that is sent again is one batch: its first answer is given again.
 * 4. Under a lease that somebody else has taken since, nothing is written.
 * 5. A decision is refused only where a fact came since; what was merely observed does not overtake it.
 * 6. Bodies are text: JSON may hold characters that PostgreSQL's own JSON type refuses.
 */

/** What workers and the database must agree on. Another number is refused in words; a change of a table raises it. */
export const PROTOCOL = 1;

export const CHANNEL = "segno";

export const SCHEMA = `
CREATE SCHEMA segno;

CREATE TABLE segno.protocol (number int NOT NULL);
INSERT INTO segno.protocol VALUES (${PROTOCOL});

CREATE TABLE segno.runs (
  run text PRIMARY KEY,
  repo text NOT NULL,
  seq bigint NOT NULL DEFAULT 0,
  fact_seq bigint NOT NULL DEFAULT 0,
  last_at timestamptz NOT NULL DEFAULT '-infinity'
);

CREATE TABLE segno.events (
  run text NOT NULL REFERENCES segno.runs ON DELETE CASCADE,
  seq bigint NOT NULL,
  at text NOT NULL,
  scope text NOT NULL,
  epoch int NOT NULL,
  body text NOT NULL,
  PRIMARY KEY (run, seq)
);

-- Who may write facts of a phase; the empty scope is the conductor's.
CREATE TABLE segno.leases (
  run text NOT NULL REFERENCES segno.runs ON DELETE CASCADE,
  scope text NOT NULL,
  epoch int NOT NULL,
  worker text NOT NULL,
  PRIMARY KEY (run, scope)
);

-- The newest batch of each writer, and what was answered.
CREATE TABLE segno.batches (
  run text NOT NULL REFERENCES segno.runs ON DELETE CASCADE,
  writer uuid NOT NULL,
  batch bigint NOT NULL,
  first bigint NOT NULL,
  at text NOT NULL,
  PRIMARY KEY (run, writer)
);

CREATE TABLE segno.blobs (
  run text NOT NULL REFERENCES segno.runs ON DELETE CASCADE,
  hash text NOT NULL,
  content bytea NOT NULL,
  PRIMARY KEY (run, hash)
);

CREATE TABLE segno.notes (
  run text NOT NULL REFERENCES segno.runs ON DELETE CASCADE,
  name text NOT NULL,
  body text NOT NULL,
  at timestamptz NOT NULL,
  PRIMARY KEY (run, name)
);

CREATE TABLE segno.learned (
  repo text NOT NULL,
  agent text NOT NULL,
  body text NOT NULL,
  PRIMARY KEY (repo, agent)
);

-- Who conducts a run now; without a sign of life it is over at \`until\`.
CREATE TABLE segno.holders (
  run text PRIMARY KEY,
  token uuid NOT NULL,
  holder text NOT NULL,
  until timestamptz NOT NULL
);

-- Who is there, and what each offers.
CREATE TABLE segno.workers (
  repo text NOT NULL,
  worker text NOT NULL,
  offer text NOT NULL,
  since timestamptz NOT NULL,
  seen timestamptz NOT NULL,
  PRIMARY KEY (repo, worker)
);

-- A usage limit is an account's, whichever run met it.
CREATE TABLE segno.accounts (
  agent text NOT NULL,
  account text NOT NULL,
  until timestamptz NOT NULL,
  PRIMARY KEY (agent, account)
);

CREATE FUNCTION segno.clock() RETURNS timestamptz LANGUAGE sql VOLATILE AS 'SELECT clock_timestamp()';

CREATE FUNCTION segno.stamp(moment timestamptz) RETURNS text LANGUAGE sql IMMUTABLE AS
$$ SELECT to_char(moment AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') $$;

CREATE FUNCTION segno.create_run(p_run text, p_repo text) RETURNS void LANGUAGE sql
SECURITY DEFINER SET search_path = segno, pg_temp AS
$$ INSERT INTO segno.runs (run, repo) VALUES (p_run, p_repo) ON CONFLICT DO NOTHING $$;

-- Takes the lease, unless a newer one was taken.
CREATE FUNCTION segno.take_lease(p_run text, p_scope text, p_epoch int, p_worker text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = segno, pg_temp AS $$
BEGIN
  PERFORM 1 FROM segno.runs WHERE run = p_run FOR UPDATE;
  INSERT INTO segno.leases AS l (run, scope, epoch, worker) VALUES (p_run, p_scope, p_epoch, p_worker)
    ON CONFLICT (run, scope) DO UPDATE SET epoch = p_epoch, worker = p_worker WHERE l.epoch <= p_epoch;
  RETURN FOUND;
END $$;

-- The lease that follows whatever was the last one: from here on that one writes nothing.
CREATE FUNCTION segno.next_lease(p_run text, p_scope text, p_worker text) RETURNS int
LANGUAGE plpgsql SECURITY DEFINER SET search_path = segno, pg_temp AS $$
DECLARE
  taken int;
BEGIN
  PERFORM 1 FROM segno.runs WHERE run = p_run FOR UPDATE;
  IF NOT FOUND THEN RETURN NULL; END IF;
  INSERT INTO segno.leases AS l (run, scope, epoch, worker) VALUES (p_run, p_scope, 1, p_worker)
    ON CONFLICT (run, scope) DO UPDATE SET epoch = l.epoch + 1, worker = p_worker RETURNING l.epoch INTO taken;
  RETURN taken;
END $$;

CREATE FUNCTION segno.append(
  p_run text, p_expected bigint, p_scope text, p_epoch int, p_leased boolean, p_writer uuid, p_batch bigint,
  p_bodies text[], p_facts boolean[],
  OUT outcome text, OUT first bigint, OUT at text
) LANGUAGE plpgsql SECURITY DEFINER SET search_path = segno, pg_temp AS $$
DECLARE
  r segno.runs;
  b segno.batches;
  moment timestamptz;
  newest bigint;
BEGIN
  SELECT * INTO r FROM segno.runs WHERE run = p_run FOR UPDATE;
  IF NOT FOUND THEN
    outcome := 'gone';
    RETURN;
  END IF;
  SELECT * INTO b FROM segno.batches WHERE run = p_run AND writer = p_writer;
  IF FOUND AND b.batch = p_batch THEN
    outcome := 'repeat';
    first := b.first;
    at := b.at;
    RETURN;
  END IF;
  IF p_leased AND NOT EXISTS (
    SELECT 1 FROM segno.leases l WHERE l.run = p_run AND l.scope = p_scope AND l.epoch = p_epoch
  ) THEN
    outcome := 'fenced';
    RETURN;
  END IF;
  IF p_expected < r.fact_seq OR p_expected > r.seq THEN
    outcome := 'conflict';
    first := r.seq + 1;
    RETURN;
  END IF;
  moment := greatest(date_trunc('milliseconds', segno.clock()), r.last_at);
  outcome := 'taken';
  first := r.seq + 1;
  at := segno.stamp(moment);
  INSERT INTO segno.events (run, seq, at, scope, epoch, body)
    SELECT p_run, r.seq + n, append.at, p_scope, p_epoch, p_bodies[n] FROM generate_subscripts(p_bodies, 1) AS n;
  SELECT max(n) INTO newest FROM generate_subscripts(p_facts, 1) AS n WHERE p_facts[n];
  UPDATE segno.runs SET seq = r.seq + cardinality(p_bodies), last_at = moment,
    fact_seq = CASE WHEN newest IS NULL THEN r.fact_seq ELSE r.seq + newest END WHERE run = p_run;
  INSERT INTO segno.batches (run, writer, batch, first, at) VALUES (p_run, p_writer, p_batch, append.first, append.at)
    ON CONFLICT (run, writer) DO UPDATE SET batch = excluded.batch, first = excluded.first, at = excluded.at;
  PERFORM pg_notify('${CHANNEL}', p_run);
END $$;

CREATE FUNCTION segno.put_blob(p_run text, p_hash text, p_content bytea) RETURNS void LANGUAGE plpgsql
SECURITY DEFINER SET search_path = segno, pg_temp AS $$
BEGIN
  IF encode(sha256(p_content), 'hex') <> p_hash THEN
    RAISE EXCEPTION 'a blob is not what its name says';
  END IF;
  INSERT INTO segno.blobs (run, hash, content) VALUES (p_run, p_hash, p_content) ON CONFLICT DO NOTHING;
END $$;

CREATE FUNCTION segno.leave_note(p_run text, p_name text, p_body text) RETURNS void LANGUAGE sql
SECURITY DEFINER SET search_path = segno, pg_temp AS $$
  INSERT INTO segno.notes (run, name, body, at) VALUES (p_run, p_name, p_body, segno.clock())
    ON CONFLICT (run, name) DO UPDATE SET body = excluded.body, at = excluded.at
$$;

CREATE FUNCTION segno.learn(p_repo text, p_agent text, p_before text, p_body text) RETURNS boolean LANGUAGE plpgsql
SECURITY DEFINER SET search_path = segno, pg_temp AS $$
BEGIN
  IF p_before IS NULL THEN
    INSERT INTO segno.learned (repo, agent, body) VALUES (p_repo, p_agent, p_body) ON CONFLICT DO NOTHING;
  ELSE
    UPDATE segno.learned SET body = p_body WHERE repo = p_repo AND agent = p_agent AND body = p_before;
  END IF;
  RETURN FOUND;
END $$;

CREATE FUNCTION segno.worker_seen(p_worker text, p_repo text, p_offer text) RETURNS void LANGUAGE sql
SECURITY DEFINER SET search_path = segno, pg_temp AS $$
  INSERT INTO segno.workers (worker, repo, offer, since, seen) VALUES (p_worker, p_repo, p_offer, segno.clock(), segno.clock())
    ON CONFLICT (repo, worker) DO UPDATE SET offer = excluded.offer, seen = excluded.seen;
  DELETE FROM segno.workers WHERE seen < segno.clock() - interval '1 day'
$$;

CREATE FUNCTION segno.worker_gone(p_worker text, p_repo text) RETURNS void LANGUAGE sql
SECURITY DEFINER SET search_path = segno, pg_temp AS
$$ DELETE FROM segno.workers WHERE worker = p_worker AND repo = p_repo $$;

CREATE FUNCTION segno.limit_account(p_agent text, p_account text, p_until timestamptz) RETURNS void LANGUAGE sql
SECURITY DEFINER SET search_path = segno, pg_temp AS $$
  INSERT INTO segno.accounts (agent, account, until) VALUES (p_agent, p_account, p_until)
    ON CONFLICT (agent, account) DO UPDATE SET until = excluded.until
$$;

-- Nobody else's, as long as there are signs of life.
CREATE FUNCTION segno.hold(p_run text, p_token uuid, p_holder text, p_seconds int) RETURNS text LANGUAGE plpgsql
SECURITY DEFINER SET search_path = segno, pg_temp AS $$
DECLARE
  found_ text;
BEGIN
  INSERT INTO segno.holders AS h (run, token, holder, until)
    VALUES (p_run, p_token, p_holder, clock_timestamp() + make_interval(secs => p_seconds))
    ON CONFLICT (run) DO UPDATE SET token = excluded.token, holder = excluded.holder, until = excluded.until
    WHERE h.token = p_token OR h.until < clock_timestamp();
  IF FOUND THEN RETURN NULL; END IF;
  SELECT holder INTO found_ FROM segno.holders WHERE run = p_run;
  RETURN found_;
END $$;

CREATE FUNCTION segno.let_go(p_run text, p_token uuid) RETURNS void LANGUAGE sql
SECURITY DEFINER SET search_path = segno, pg_temp AS
$$ DELETE FROM segno.holders WHERE run = p_run AND token = p_token $$;

CREATE FUNCTION segno.remove_run(p_run text) RETURNS void LANGUAGE sql
SECURITY DEFINER SET search_path = segno, pg_temp AS
$$ DELETE FROM segno.runs WHERE run = p_run $$;
`;

/** Two kinds of people beside the owner: who works may call what writes, who looks may read. */
export const rolesOf = (worker: string, viewer: string): string => `
REVOKE ALL ON SCHEMA segno FROM PUBLIC;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA segno FROM PUBLIC;
DO $$ BEGIN
  IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = '${worker}') THEN CREATE ROLE ${worker} NOLOGIN; END IF;
  IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = '${viewer}') THEN CREATE ROLE ${viewer} NOLOGIN; END IF;
END $$;
DO $$ BEGIN
  IF to_regnamespace('pgboss') IS NOT NULL THEN
    GRANT USAGE ON SCHEMA pgboss TO ${worker}, ${viewer};
    GRANT SELECT ON ALL TABLES IN SCHEMA pgboss TO ${worker}, ${viewer};
    GRANT INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA pgboss TO ${worker};
    GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA pgboss TO ${worker};
  END IF;
END $$;
GRANT USAGE ON SCHEMA segno TO ${worker}, ${viewer};
GRANT SELECT ON ALL TABLES IN SCHEMA segno TO ${worker}, ${viewer};
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA segno TO ${worker};
REVOKE EXECUTE ON FUNCTION segno.remove_run(text) FROM ${worker};
GRANT EXECUTE ON FUNCTION segno.clock(), segno.stamp(timestamptz) TO ${viewer};
`;
