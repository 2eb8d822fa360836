-- The SQLite back end's tables, version 1 (PRAGMA user_version). This file is their reference.
-- It is run once, in one transaction, when a store is made; an existing store is never given tables it lacks.

-- 'QuFS': tells our files from those of other applications, and file(1) can show it.
PRAGMA application_id = 0x51754653;
PRAGMA user_version = 1;

-- The tree of queues. The root is number 0 and has no row.
CREATE TABLE queues (
    qid           INTEGER PRIMARY KEY AUTOINCREMENT, -- immutable; AUTOINCREMENT: never used again
    parent        INTEGER NOT NULL,                  -- qid of the queue above, 0 below the root
    name          TEXT    NOT NULL,                  -- one path component; a rename changes this one row
    uid           INTEGER NOT NULL,
    gid           INTEGER NOT NULL,
    mode          INTEGER NOT NULL,                  -- permission bits alone
    created_at    REAL    NOT NULL,                  -- Unix seconds
    box           INTEGER NOT NULL UNIQUE,           -- where its messages lie; `clear` gives it an empty one
    -- Counters, changed in the transaction that changes the messages: counting rows takes 37 ms at a million.
    pending       INTEGER NOT NULL DEFAULT 0,
    processing    INTEGER NOT NULL DEFAULT 0,
    staged        INTEGER NOT NULL DEFAULT 0,
    unacked_bytes INTEGER NOT NULL DEFAULT 0,        -- payload bytes of pending and processing together
    UNIQUE (parent, name)
);

-- Boxes that were cleared: their messages are gone for everybody, and are deleted a few at a time by later batches,
-- because deleting half a million in one go holds up everybody else for 0.8 s.
CREATE TABLE trash (
    box INTEGER PRIMARY KEY
);

-- One row for each message. The payload lies apart: a narrow row makes a claim of 100 KB 2.6 times as fast.
CREATE TABLE messages (
    id          INTEGER PRIMARY KEY AUTOINCREMENT, -- the message's id; AUTOINCREMENT: never used again
    box         INTEGER NOT NULL,                  -- box of the queue it belongs to, or a box in trash
    state       INTEGER NOT NULL,                  -- 0 staged, 1 pending, 2 processing
    partial     INTEGER NOT NULL DEFAULT 0,        -- 1: staged, and known to be incomplete
    rank        INTEGER NOT NULL,                  -- the priority negated, so that ascending order hands out the highest
    lease_until REAL,                              -- store's clock, seconds; NULL unless processing
    claims      INTEGER NOT NULL DEFAULT 0,        -- claims so far, undone ones included: the N of the receipt ID.N
    attempt     INTEGER NOT NULL DEFAULT 0,        -- claims so far that were not undone
    enqueued_at REAL    NOT NULL,                  -- store's clock, seconds
    size        INTEGER NOT NULL,                  -- bytes of the whole payload
    crc         INTEGER NOT NULL,                  -- zlib.crc32 of the whole payload: no check of SQLite's covers it
    chunks      INTEGER NOT NULL DEFAULT 0         -- rows in chunk; most messages have none
);
-- The order in which messages are handed out (the rowid, our id, is the last column of every index).
CREATE INDEX messages_pending ON messages (box, rank) WHERE state = 1;
-- What is being processed, by queue and in order.
CREATE INDEX messages_processing ON messages (box, rank) WHERE state = 2;
-- Which leases end next, in any queue.
CREATE INDEX messages_lease ON messages (lease_until) WHERE state = 2;
-- What is being written: for a restart, and for `clear`, which spares it.
CREATE INDEX messages_staged ON messages (box) WHERE state = 0;

-- The payload as it came with `stage`; each message has one row here, an empty one too.
CREATE TABLE body (
    id   INTEGER PRIMARY KEY, -- id of the message
    data BLOB NOT NULL
);

-- What `append` added: a row each, so that many small writes cost the same each and are not quadratic.
CREATE TABLE chunk (
    id       INTEGER NOT NULL, -- id of the message
    position INTEGER NOT NULL, -- byte of the payload at which it begins
    data     BLOB    NOT NULL
);
-- Not a WITHOUT ROWID table: payloads in the key's tree made a claim 3 to 7 times slower.
CREATE UNIQUE INDEX chunk_place ON chunk (id, position);

-- Single values. The clock mark: clock_boot_id, clock_uptime, clock_at (see queuefs.clock).
CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value NOT NULL
);
