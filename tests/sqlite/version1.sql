-- A store as version 1 made it, with a few messages: two pending, one claimed, one staged, one cleared.
PRAGMA application_id = 0x51754653;
PRAGMA user_version = 1;
CREATE TABLE queues (
    qid           INTEGER PRIMARY KEY AUTOINCREMENT,
    parent        INTEGER NOT NULL,
    name          TEXT    NOT NULL,
    uid           INTEGER NOT NULL,
    gid           INTEGER NOT NULL,
    mode          INTEGER NOT NULL,
    created_at    REAL    NOT NULL,
    box           INTEGER NOT NULL UNIQUE,
    pending       INTEGER NOT NULL DEFAULT 0,
    processing    INTEGER NOT NULL DEFAULT 0,
    staged        INTEGER NOT NULL DEFAULT 0,
    unacked_bytes INTEGER NOT NULL DEFAULT 0,
    UNIQUE (parent, name)
);
CREATE TABLE trash (
    box INTEGER PRIMARY KEY
);
CREATE TABLE messages (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    box         INTEGER NOT NULL,
    state       INTEGER NOT NULL,
    partial     INTEGER NOT NULL DEFAULT 0,
    rank        INTEGER NOT NULL,
    lease_until REAL,
    claims      INTEGER NOT NULL DEFAULT 0,
    attempt     INTEGER NOT NULL DEFAULT 0,
    enqueued_at REAL    NOT NULL,
    size        INTEGER NOT NULL,
    crc         INTEGER NOT NULL,
    chunks      INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX messages_pending ON messages (box, rank) WHERE state = 1;
CREATE INDEX messages_processing ON messages (box, rank) WHERE state = 2;
CREATE INDEX messages_lease ON messages (lease_until) WHERE state = 2;
CREATE INDEX messages_staged ON messages (box) WHERE state = 0;
CREATE TABLE body (
    id   INTEGER PRIMARY KEY,
    data BLOB NOT NULL
);
CREATE TABLE chunk (
    id       INTEGER NOT NULL,
    position INTEGER NOT NULL,
    data     BLOB    NOT NULL
);
CREATE UNIQUE INDEX chunk_place ON chunk (id, position);
CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value NOT NULL
);
INSERT INTO queues (qid, parent, name, uid, gid, mode, created_at, box, pending, processing, staged, unacked_bytes)
VALUES (1, 0, 'jobs', 0, 0, 448, 1, 3, 2, 1, 1, 9), (2, 1, 'below', 0, 0, 448, 1, 2, 0, 0, 0, 0);
INSERT INTO trash VALUES (1);
INSERT INTO messages (id, box, state, rank, lease_until, claims, attempt, enqueued_at, size, crc) VALUES
    (1, 1, 1, 0, NULL, 0, 0, 1, 3, 891568578),
    (2, 3, 1, 0, NULL, 0, 0, 1, 3, 891568578),
    (3, 3, 1, -5, NULL, 2, 1, 1, 3, 891568578),
    (4, 3, 2, 0, 50, 1, 1, 1, 3, 891568578),
    (5, 3, 0, 0, NULL, 0, 0, 1, 3, 891568578);
INSERT INTO body VALUES (1, x'616263'), (2, x'616263'), (3, x'616263'), (4, x'616263'), (5, x'616263');
INSERT INTO meta VALUES ('clock_boot_id', 'boot'), ('clock_uptime', 1.0), ('clock_at', 2.0);
