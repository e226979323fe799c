-- When a run of this store last used an image that it had made or found, by the engine's id of it.
CREATE TABLE image_use (
  image_id TEXT PRIMARY KEY,
  used_at TEXT NOT NULL
) STRICT;

-- Runs that still use one: whose they are is told as in a container's labels, so that a dead one holds nothing.
CREATE TABLE image_holder (
  image_id TEXT NOT NULL REFERENCES image_use (image_id) ON DELETE CASCADE,
  owner TEXT NOT NULL,
  PRIMARY KEY (image_id, owner)
) STRICT;
