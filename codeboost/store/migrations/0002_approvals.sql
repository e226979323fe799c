-- Everything that was ever said about a command, oldest first. Each row's digest covers its content and the digest of
-- the row before it in the same repository: whoever edits one row has to rewrite all that follow, and the head that
-- runs recorded tells even that.
CREATE TABLE approval_log (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  repository_id INTEGER NOT NULL REFERENCES repository (id),
  kind TEXT NOT NULL CHECK (kind IN ('approve', 'revoke', 'refused')),
  argv TEXT NOT NULL,
  approver TEXT NOT NULL,
  git_identity TEXT,
  at TEXT NOT NULL,
  how TEXT NOT NULL,
  reason TEXT NOT NULL,
  rev TEXT,
  pins TEXT NOT NULL,
  target INTEGER REFERENCES approval_log (id),
  previous TEXT NOT NULL,
  digest TEXT NOT NULL UNIQUE
) STRICT;

CREATE INDEX approval_log_by_repository ON approval_log (repository_id, id);

CREATE TRIGGER approval_log_is_never_edited BEFORE UPDATE ON approval_log
BEGIN
  SELECT RAISE(ABORT, 'the approval log is only ever added to');
END;

CREATE TRIGGER approval_log_is_never_cut BEFORE DELETE ON approval_log
BEGIN
  SELECT RAISE(ABORT, 'the approval log is only ever added to');
END;

-- The approvals in force: what the log amounts to, kept for looking one up. argv is canonical JSON, so equal text
-- means equal argv, and neighbours in the index begin alike. rest_sha256 is of the arguments without the program.
CREATE TABLE approval (
  log_id INTEGER PRIMARY KEY REFERENCES approval_log (id),
  repository_id INTEGER NOT NULL REFERENCES repository (id),
  argv TEXT NOT NULL,
  argv_sha256 TEXT NOT NULL,
  rest_sha256 TEXT NOT NULL
) STRICT;

CREATE INDEX approval_by_digest ON approval (repository_id, argv_sha256);
CREATE INDEX approval_by_rest ON approval (repository_id, rest_sha256);
CREATE INDEX approval_by_argv ON approval (repository_id, argv);
