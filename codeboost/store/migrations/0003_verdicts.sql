-- What a person or a review agent says about a `check` statement of one revision, on one tree. Only ever added to: the
-- newest row counts.
CREATE TABLE check_verdict (
  id INTEGER PRIMARY KEY,
  plan_id INTEGER NOT NULL REFERENCES plan (id),
  item TEXT NOT NULL,
  position INTEGER NOT NULL,
  commit_id TEXT NOT NULL,
  tree_id TEXT NOT NULL,
  verdict TEXT NOT NULL CHECK (verdict IN ('pass', 'fail')),
  note TEXT NOT NULL,
  given_by TEXT NOT NULL,
  given_at TEXT NOT NULL
) STRICT;

CREATE INDEX check_verdict_by_plan ON check_verdict (plan_id, tree_id, item, position, id);

-- A person's word on what [setup] gets to see at a commit, where that differs from the base: path to mode and object.
CREATE TABLE setup_approval (
  id INTEGER PRIMARY KEY,
  repository_id INTEGER NOT NULL REFERENCES repository (id),
  inputs_sha256 TEXT NOT NULL,
  inputs TEXT NOT NULL,
  commit_id TEXT NOT NULL,
  approver TEXT NOT NULL,
  git_identity TEXT,
  approved_at TEXT NOT NULL,
  how TEXT NOT NULL,
  UNIQUE (repository_id, inputs_sha256)
) STRICT;

-- Plans that nobody approved here: `run --ci` got them as files, and trusts the base commit it was given.
CREATE TABLE ci_plan (
  plan_id INTEGER PRIMARY KEY REFERENCES plan (id),
  made_at TEXT NOT NULL
) STRICT;
