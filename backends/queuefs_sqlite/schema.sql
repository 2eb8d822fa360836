-- The SQLite back end's tables, version 3 (PRAGMA user_version). This file is their reference.
-- It is run once, in one transaction, when a store is made; upgrade1.sql and upgrade2.sql bring an older store here.

-- 'QuFS': tells our files from those of other applications, and file(1) can show it.
PRAGMA application_id = 0x51754653;
PRAGMA user_version = 3;

-- The tree of queues. The root is number 0 and has no row.
CREATE TABLE queues (
    qid           INTEGER PRIMARY KEY AUTOINCREMENT, -- immutable; AUTOINCREMENT: never used again
    parent        INTEGER NOT NULL,                  -- qid of the queue above, 0 below the root
    name          TEXT    NOT NULL,                  -- one path component; a rename changes this one row
    uid           INTEGER NOT NULL,
    gid           INTEGER NOT NULL,
    mode          INTEGER NOT NULL,                  -- permission bits alone
    created_at    REAL    NOT NULL,                  -- Unix seconds
    config        BLOB    NOT NULL DEFAULT x'',      -- its meaning is the service's
    files         TEXT    NOT NULL DEFAULT '{}',     -- JSON: {name: [uid, gid, mode]} of files with owners of their own
    box           INTEGER NOT NULL UNIQUE,           -- where unacknowledged messages lie; `clear` gives an empty one
    dead_box      INTEGER NOT NULL DEFAULT 0,        -- where dead ones lie; `drop` of all of them gives an empty one
    done_box      INTEGER NOT NULL DEFAULT 0,        -- where records lie; `prune` of all of them gives an empty one
    -- Counters, changed in the transaction that changes the messages: counting rows takes 37 ms at a million.
    pending       INTEGER NOT NULL DEFAULT 0,        -- delayed and paused ones included
    processing    INTEGER NOT NULL DEFAULT 0,
    staged        INTEGER NOT NULL DEFAULT 0,
    delayed       INTEGER NOT NULL DEFAULT 0,
    paused        INTEGER NOT NULL DEFAULT 0,
    dead          INTEGER NOT NULL DEFAULT 0,
    unacked_bytes INTEGER NOT NULL DEFAULT 0,        -- payload bytes of pending and processing together
    staged_bytes  INTEGER NOT NULL DEFAULT 0,
    done          INTEGER NOT NULL DEFAULT 0,        -- records, those included that are on their way out
    -- What it was last told to keep of its records, and a time before which none of them finished.
    keep_records  INTEGER NOT NULL DEFAULT 0,
    keep_seconds  REAL    NOT NULL DEFAULT 0,
    done_since    REAL    NOT NULL DEFAULT 0,
    -- Totals since the queue was made.
    enqueued      INTEGER NOT NULL DEFAULT 0,
    dequeued      INTEGER NOT NULL DEFAULT 0,
    acked         INTEGER NOT NULL DEFAULT 0,
    nacked        INTEGER NOT NULL DEFAULT 0,
    expired       INTEGER NOT NULL DEFAULT 0,
    buried        INTEGER NOT NULL DEFAULT 0,
    UNIQUE (parent, name)
);

-- Boxes that were cleared: their messages are gone for everybody, and are deleted a few at a time by later batches,
-- because deleting half a million in one go holds up everybody else for 0.8 s. Box 0 takes single messages that are too
-- large to be deleted in one go (256 MiB: 0.6 s).
CREATE TABLE trash (
    box INTEGER PRIMARY KEY
);

-- One row for each message. The payload lies apart: a narrow row makes a claim of 100 KB 2.6 times as fast.
CREATE TABLE messages (
    id          INTEGER PRIMARY KEY AUTOINCREMENT, -- the message's id; AUTOINCREMENT: never used again
    box         INTEGER NOT NULL,                  -- box or dead_box of its queue, or a box in trash; staged: -qid
    state       INTEGER NOT NULL,                  -- 0 staged, 2 processing, 4 dead; odd: pending, 1 ready, 3 delayed, 5 paused
    partial     INTEGER NOT NULL DEFAULT 0,        -- 1: staged, and known to be incomplete
    rank        INTEGER NOT NULL,                  -- the priority negated, so that ascending order hands out the highest
    lease_until REAL,                              -- store's clock, seconds; NULL unless processing
    due         REAL,                              -- not handed out before; staged: the seconds asked for; NULL: none
    expires_at  REAL,                              -- lapses then if pending; staged: the seconds asked for; NULL: never
    claims      INTEGER NOT NULL DEFAULT 0,        -- claims so far, undone ones included: the N of the receipt ID.N
    attempt     INTEGER NOT NULL DEFAULT 0,        -- claims so far that were not undone, since the last retry
    cancelled   INTEGER NOT NULL DEFAULT 0,        -- 1: processing, and goes however it is settled
    enqueued_at REAL    NOT NULL,                  -- store's clock, seconds
    size        INTEGER NOT NULL,                  -- bytes of the whole payload
    crc         INTEGER NOT NULL,                  -- zlib.crc32 of the whole payload: no check of SQLite's covers it
    chunks      INTEGER NOT NULL DEFAULT 0,        -- rows in chunk; most messages have none
    key         TEXT,                              -- a second message of this key gives way
    reason      TEXT,                              -- of the last nack or burial
    extra       BLOB    NOT NULL DEFAULT x'',      -- its meaning is the service's
    claimed_at  REAL                               -- of the last claim, store's clock, seconds; NULL: there was none
);
-- The order in which messages are handed out. The end of their lives is there too, so that those which have lapsed and
-- are not removed yet are passed over without a look at their rows.
CREATE INDEX messages_ready ON messages (box, rank, id, expires_at) WHERE state = 1;
-- What is being processed, by queue and in order (the rowid, our id, is the last column of every index).
CREATE INDEX messages_processing ON messages (box, rank) WHERE state = 2;
-- Which leases end next, in any queue.
CREATE INDEX messages_lease ON messages (lease_until) WHERE state = 2;
-- Which delays end next: in a queue, for a claim, and in any queue.
CREATE INDEX messages_delayed ON messages (box, due, rank) WHERE state = 3;
CREATE INDEX messages_due ON messages (due) WHERE state = 3;
-- Delayed and paused ones in the order of their places, for who lists them among the ready ones.
CREATE INDEX messages_held ON messages (box, rank) WHERE state & 1 AND state > 1;
-- What is pending in a queue, by age. (A list, state IN (1, 3, 5), made each change of a row three times as slow.)
CREATE INDEX messages_age ON messages (box) WHERE state & 1;
-- What lapses next, in any queue.
CREATE INDEX messages_expiry ON messages (expires_at) WHERE state & 1 AND expires_at IS NOT NULL;
-- Dead messages, by queue.
CREATE INDEX messages_dead ON messages (box) WHERE state = 4;
-- What is being written, in any queue: for a restart.
CREATE INDEX messages_being_written ON messages (id) WHERE state = 0;
-- Which message has a key, by queue.
CREATE INDEX messages_key ON messages (box, key) WHERE key IS NOT NULL;

-- What was published last under a key, for as long as that keeps others of that key out, unacknowledged or not.
CREATE TABLE keys (
    qid          INTEGER NOT NULL,
    key          TEXT    NOT NULL,
    message      INTEGER NOT NULL, -- its id
    published_at REAL    NOT NULL, -- store's clock, seconds
    until        REAL    NOT NULL, -- the end of the window that was asked for then
    UNIQUE (qid, key)
);
CREATE INDEX keys_until ON keys (until);

-- The first 256 KiB of the payload, if they came with `stage`; each message has one row here, an empty one too.
CREATE TABLE body (
    id   INTEGER PRIMARY KEY, -- id of the message
    data BLOB NOT NULL
);

-- The rest of it, and what `append` added: a row each, so that many small writes cost the same each and are not
-- quadratic, and 256 KiB each at most, because a piece is read by walking there from the row's beginning. (Stores of
-- version 2 have longer ones.)
CREATE TABLE chunk (
    id       INTEGER NOT NULL, -- id of the message
    position INTEGER NOT NULL, -- byte of the payload at which it begins
    data     BLOB    NOT NULL
);
-- Not a WITHOUT ROWID table: payloads in the key's tree made a claim 3 to 7 times slower.
CREATE UNIQUE INDEX chunk_place ON chunk (id, position);

-- What is kept of messages that are done.
CREATE TABLE records (
    box         INTEGER NOT NULL, -- done_box of its queue, or a box in trash
    id          INTEGER NOT NULL, -- the message's
    finished_at REAL    NOT NULL, -- store's clock, seconds, as all times here
    status      TEXT    NOT NULL, -- succeeded, failed, timeout, cancelled
    size        INTEGER NOT NULL,
    rank        INTEGER NOT NULL,
    attempt     INTEGER NOT NULL,
    enqueued_at REAL    NOT NULL,
    claimed_at  REAL,
    key         TEXT,
    reason      TEXT,
    extra       BLOB    NOT NULL,
    detail      BLOB    NOT NULL  -- what its holder said of it; its meaning is the service's
);
CREATE UNIQUE INDEX records_id ON records (box, id);
CREATE INDEX records_ended ON records (box, finished_at, id);

-- Single values. The clock mark: clock_boot_id, clock_uptime, clock_at (see queuefs.clock).
CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value NOT NULL
);
