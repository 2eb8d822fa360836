-- A store as version 2 made it: messages ready, in parts, delayed, paused, held, cancelled while held, dead, being
-- written, whole and in part, and one that was cleared.
PRAGMA application_id = 0x51754653;
PRAGMA user_version = 2;
CREATE TABLE queues (
    qid           INTEGER PRIMARY KEY AUTOINCREMENT,
    parent        INTEGER NOT NULL,
    name          TEXT    NOT NULL,
    uid           INTEGER NOT NULL,
    gid           INTEGER NOT NULL,
    mode          INTEGER NOT NULL,
    created_at    REAL    NOT NULL,
    config        BLOB    NOT NULL DEFAULT x'',
    box           INTEGER NOT NULL UNIQUE,
    dead_box      INTEGER NOT NULL DEFAULT 0,
    pending       INTEGER NOT NULL DEFAULT 0,
    processing    INTEGER NOT NULL DEFAULT 0,
    staged        INTEGER NOT NULL DEFAULT 0,
    delayed       INTEGER NOT NULL DEFAULT 0,
    paused        INTEGER NOT NULL DEFAULT 0,
    dead          INTEGER NOT NULL DEFAULT 0,
    unacked_bytes INTEGER NOT NULL DEFAULT 0,
    staged_bytes  INTEGER NOT NULL DEFAULT 0,
    enqueued      INTEGER NOT NULL DEFAULT 0,
    dequeued      INTEGER NOT NULL DEFAULT 0,
    acked         INTEGER NOT NULL DEFAULT 0,
    nacked        INTEGER NOT NULL DEFAULT 0,
    expired       INTEGER NOT NULL DEFAULT 0,
    buried        INTEGER NOT NULL DEFAULT 0,
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
    due         REAL,
    expires_at  REAL,
    claims      INTEGER NOT NULL DEFAULT 0,
    attempt     INTEGER NOT NULL DEFAULT 0,
    cancelled   INTEGER NOT NULL DEFAULT 0,
    enqueued_at REAL    NOT NULL,
    size        INTEGER NOT NULL,
    crc         INTEGER NOT NULL,
    chunks      INTEGER NOT NULL DEFAULT 0,
    key         TEXT,
    reason      TEXT,
    extra       BLOB    NOT NULL DEFAULT x''
);
CREATE INDEX messages_ready ON messages (box, rank, id, expires_at) WHERE state = 1;
CREATE INDEX messages_processing ON messages (box, rank) WHERE state = 2;
CREATE INDEX messages_lease ON messages (lease_until) WHERE state = 2;
CREATE INDEX messages_delayed ON messages (box, due, rank) WHERE state = 3;
CREATE INDEX messages_due ON messages (due) WHERE state = 3;
CREATE INDEX messages_age ON messages (box) WHERE state & 1;
CREATE INDEX messages_expiry ON messages (expires_at) WHERE state & 1 AND expires_at IS NOT NULL;
CREATE INDEX messages_dead ON messages (box) WHERE state = 4;
CREATE INDEX messages_being_written ON messages (id) WHERE state = 0;
CREATE INDEX messages_key ON messages (box, key) WHERE key IS NOT NULL;
CREATE TABLE keys (
    qid          INTEGER NOT NULL,
    key          TEXT    NOT NULL,
    message      INTEGER NOT NULL,
    published_at REAL    NOT NULL,
    until        REAL    NOT NULL,
    UNIQUE (qid, key)
);
CREATE INDEX keys_until ON keys (until);
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
INSERT INTO queues VALUES
    (1, 0, 'jobs', 1000, 100, 488, 1.0, X'6C65617365203D20350A', 1, 2, 4, 2, 2, 1, 1, 1, 30, 9, 8, 5, 1, 2, 0, 1),
    (2, 1, 'below', 1000, 100, 488, 2.0, X'', 5, 4, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0);
INSERT INTO trash VALUES
    (20);
INSERT INTO messages VALUES
    (1, 20, 1, 0, 0, NULL, NULL, NULL, 0, 0, 0, 10.0, 7, 2406263009, 0, NULL, NULL, X''),
    (2, 2, 4, 0, -9, NULL, NULL, NULL, 1, 1, 0, 10.0, 4, 3978643748, 0, NULL, 'too often', X''),
    (3, 1, 2, 0, -8, 33.0, NULL, 110.0, 1, 1, 0, 10.0, 4, 308119761, 0, 'k', NULL, X''),
    (4, 1, 2, 0, -7, 33.0, NULL, NULL, 1, 1, 1, 10.0, 4, 3109426870, 0, NULL, NULL, X''),
    (5, 1, 1, 0, -6, NULL, NULL, NULL, 1, 1, 0, 10.0, 4, 1842266423, 0, NULL, 'again', X''),
    (6, 1, 1, 0, 0, NULL, NULL, NULL, 0, 0, 0, 14.0, 8, 3653306004, 1, NULL, NULL, X'00FF'),
    (7, 1, 3, 0, 0, NULL, 100.0, NULL, 0, 0, 0, 10.0, 4, 1865031573, 0, NULL, NULL, X''),
    (8, 1, 5, 0, 0, NULL, 60.0, NULL, 0, 0, 0, 10.0, 6, 1186025115, 0, NULL, NULL, X''),
    (9, -1, 0, 0, 0, NULL, 5.0, 50.0, 0, 0, 0, 15.0, 5, 3294177615, 0, 's', NULL, X''),
    (10, -1, 0, 1, 0, NULL, NULL, NULL, 0, 0, 0, 15.0, 4, 4216996129, 0, NULL, NULL, X'');
INSERT INTO body VALUES
    (1, X'636C6561726564'),
    (2, X'64656164'),
    (3, X'68656C64'),
    (4, X'73746F70'),
    (5, X'6261636B'),
    (6, X'696E20'),
    (7, X'6C617465'),
    (8, X'706175736564'),
    (9, X'77686F6C65'),
    (10, X'68616C66');
INSERT INTO chunk VALUES
    (6, 3, X'7061727473');
INSERT INTO keys VALUES
    (1, 'k', 3, 10.0, 610.0);
INSERT INTO meta VALUES
    ('clock_boot_id', 'boot'),
    ('clock_uptime', 1.0),
    ('clock_at', 2.0);
UPDATE sqlite_sequence SET seq = 11 WHERE name = 'messages';
