-- Brings a store of version 1 to version 2: the first part of its way to the present one. Indexes and tables that are
-- new come from schema.sql; the columns are repeated here, for SQLite adds no others than simple ones.
ALTER TABLE queues ADD COLUMN config BLOB NOT NULL DEFAULT x'';
ALTER TABLE queues ADD COLUMN dead_box INTEGER NOT NULL DEFAULT 0;
ALTER TABLE queues ADD COLUMN delayed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE queues ADD COLUMN paused INTEGER NOT NULL DEFAULT 0;
ALTER TABLE queues ADD COLUMN dead INTEGER NOT NULL DEFAULT 0;
ALTER TABLE queues ADD COLUMN staged_bytes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE queues ADD COLUMN enqueued INTEGER NOT NULL DEFAULT 0;
ALTER TABLE queues ADD COLUMN dequeued INTEGER NOT NULL DEFAULT 0;
ALTER TABLE queues ADD COLUMN acked INTEGER NOT NULL DEFAULT 0;
ALTER TABLE queues ADD COLUMN nacked INTEGER NOT NULL DEFAULT 0;
ALTER TABLE queues ADD COLUMN expired INTEGER NOT NULL DEFAULT 0;
ALTER TABLE queues ADD COLUMN buried INTEGER NOT NULL DEFAULT 0;
ALTER TABLE messages ADD COLUMN due REAL;
ALTER TABLE messages ADD COLUMN expires_at REAL;
ALTER TABLE messages ADD COLUMN cancelled INTEGER NOT NULL DEFAULT 0;
ALTER TABLE messages ADD COLUMN key TEXT;
ALTER TABLE messages ADD COLUMN reason TEXT;
ALTER TABLE messages ADD COLUMN extra BLOB NOT NULL DEFAULT x'';
DROP INDEX messages_pending;
DROP INDEX messages_staged;
-- The totals begin with what is there, so that none is less than a count.
UPDATE queues SET
    enqueued = pending + processing,
    dequeued = processing,
    staged_bytes = (SELECT total(size) FROM messages WHERE messages.box = queues.box AND state = 0),
    dead_box = qid + max((SELECT max(box) FROM queues), coalesce((SELECT max(box) FROM trash), 0));
UPDATE messages SET box = -(SELECT qid FROM queues WHERE queues.box = messages.box) WHERE state = 0;
