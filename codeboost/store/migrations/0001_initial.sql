-- Who this store is: written into the labels of its containers.
CREATE TABLE store (id TEXT NOT NULL, created_at TEXT NOT NULL);

CREATE TABLE repository (
  id INTEGER PRIMARY KEY,
  host TEXT NOT NULL,
  owner TEXT NOT NULL,
  name TEXT NOT NULL,
  created_at TEXT NOT NULL,
  UNIQUE (host, owner, name)
) STRICT;

-- A checkout is its git common folder; worktrees share it.
CREATE TABLE checkout (
  common_dir TEXT PRIMARY KEY,
  repository_id INTEGER NOT NULL REFERENCES repository (id),
  origin TEXT,
  bound_at TEXT NOT NULL
) STRICT;

CREATE TABLE issue (
  repository_id INTEGER NOT NULL REFERENCES repository (id),
  number INTEGER NOT NULL,
  selected_at TEXT NOT NULL,
  title TEXT,
  state TEXT,
  body TEXT,
  fetched_at TEXT,
  abandoned_at TEXT,
  PRIMARY KEY (repository_id, number)
) STRICT;

CREATE TABLE plan (
  id INTEGER PRIMARY KEY,
  repository_id INTEGER NOT NULL,
  issue INTEGER NOT NULL,
  revision INTEGER NOT NULL,
  sha256 TEXT NOT NULL,
  canonical BLOB NOT NULL,
  base_commit TEXT NOT NULL,
  policy_digest TEXT NOT NULL,
  source TEXT NOT NULL,
  imported_at TEXT NOT NULL,
  UNIQUE (repository_id, issue, revision),
  FOREIGN KEY (repository_id, issue) REFERENCES issue (repository_id, number)
) STRICT;

CREATE TRIGGER plan_is_immutable BEFORE UPDATE ON plan
BEGIN
  SELECT RAISE(ABORT, 'a plan revision never changes');
END;

CREATE TABLE plan_approval (
  id INTEGER PRIMARY KEY,
  plan_id INTEGER NOT NULL UNIQUE REFERENCES plan (id),
  sha256 TEXT NOT NULL,
  base_commit TEXT NOT NULL,
  policy_digest TEXT NOT NULL,
  approver TEXT NOT NULL,
  git_identity TEXT,
  approved_at TEXT NOT NULL,
  how TEXT NOT NULL
) STRICT;

CREATE TABLE run (
  id INTEGER PRIMARY KEY,
  repository_id INTEGER NOT NULL REFERENCES repository (id),
  issue INTEGER NOT NULL,
  plan_id INTEGER NOT NULL REFERENCES plan (id),
  commit_id TEXT NOT NULL,
  tree_id TEXT NOT NULL,
  image TEXT NOT NULL,
  image_id TEXT,
  image_chosen INTEGER NOT NULL,
  engine TEXT,
  policy_digest TEXT NOT NULL,
  log_head TEXT NOT NULL,
  items TEXT NOT NULL,
  complete INTEGER NOT NULL,
  options TEXT NOT NULL,
  started_at TEXT NOT NULL,
  ended_at TEXT,
  exit_code INTEGER
) STRICT;

CREATE INDEX run_by_issue ON run (repository_id, issue, id);

CREATE TABLE attempt (
  id TEXT PRIMARY KEY,
  run_id INTEGER NOT NULL REFERENCES run (id),
  item TEXT NOT NULL,
  position INTEGER NOT NULL,
  argv TEXT NOT NULL,
  argv_sha256 TEXT NOT NULL,
  approval TEXT,
  verdict TEXT NOT NULL,
  reason TEXT NOT NULL,
  exit_code INTEGER,
  signal INTEGER,
  timed_out INTEGER NOT NULL,
  out_of_memory INTEGER NOT NULL,
  started_at TEXT,
  ended_at TEXT NOT NULL,
  duration_s REAL NOT NULL,
  limits TEXT NOT NULL,
  limits_in_force TEXT NOT NULL,
  container_id TEXT,
  image_id TEXT,
  stdout TEXT,
  stderr TEXT,
  warnings TEXT NOT NULL,
  spec_digest TEXT,
  reused_from TEXT REFERENCES attempt (id),
  UNIQUE (run_id, item, position)
) STRICT;

CREATE INDEX attempt_by_spec ON attempt (spec_digest) WHERE spec_digest IS NOT NULL;
CREATE INDEX attempt_by_origin ON attempt (reused_from) WHERE reused_from IS NOT NULL;
CREATE INDEX run_by_plan ON run (plan_id, tree_id);

-- What a run or a verdict (run_id is null) wants to write into a task file: stored with the result, written after it,
-- replayed once if cut short.
CREATE TABLE task_move (
  id INTEGER PRIMARY KEY,
  repository_id INTEGER NOT NULL REFERENCES repository (id),
  run_id INTEGER REFERENCES run (id),
  root TEXT NOT NULL,
  task TEXT NOT NULL,
  from_status TEXT NOT NULL,
  to_status TEXT NOT NULL,
  expected_sha256 TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('pending', 'written', 'superseded')),
  made_at TEXT NOT NULL
) STRICT;

CREATE INDEX task_move_by_task ON task_move (repository_id, task, id);
CREATE INDEX task_move_pending ON task_move (repository_id, id) WHERE state = 'pending';

-- The task and goal files as import last wrote them: a file that differs was edited by a person.
CREATE TABLE exported_file (
  repository_id INTEGER NOT NULL REFERENCES repository (id),
  path TEXT NOT NULL,
  body_sha256 TEXT NOT NULL,
  plan_id INTEGER NOT NULL REFERENCES plan (id),
  PRIMARY KEY (repository_id, path)
) STRICT;

-- Which revisions reached the planning files whole: what a kill cut short is done again.
CREATE TABLE plan_export (
  plan_id INTEGER PRIMARY KEY REFERENCES plan (id),
  exported_at TEXT NOT NULL
) STRICT;
