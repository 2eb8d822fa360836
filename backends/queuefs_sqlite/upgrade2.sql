-- Brings a store of version 2 to version 3; see upgrade1.sql.
ALTER TABLE queues ADD COLUMN files TEXT NOT NULL DEFAULT '{}';
ALTER TABLE queues ADD COLUMN done_box INTEGER NOT NULL DEFAULT 0;
ALTER TABLE queues ADD COLUMN done INTEGER NOT NULL DEFAULT 0;
ALTER TABLE queues ADD COLUMN keep_records INTEGER NOT NULL DEFAULT 0;
ALTER TABLE queues ADD COLUMN keep_seconds REAL NOT NULL DEFAULT 0;
ALTER TABLE queues ADD COLUMN done_since REAL NOT NULL DEFAULT 0;
ALTER TABLE messages ADD COLUMN claimed_at REAL;
-- Boxes that nothing lies in.
UPDATE queues SET
    done_box = qid + max((SELECT max(max(box), max(dead_box)) FROM queues), coalesce((SELECT max(box) FROM trash), 0));
