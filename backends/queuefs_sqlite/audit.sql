-- What an audit asks, on a connection of its own, and what a repair does.

-- Audit ------------------------------------------------------------------------------------------------------------

-- name: audit_counters
-- Queues whose counters are not what their rows say: what is kept, and what is counted.
WITH boxes AS MATERIALIZED (
    SELECT box, count(*) AS messages, total(size) AS bytes, total(state & 1) AS pending,
        total(state = 2) AS processing, total(state = 3) AS delayed, total(state = 5) AS paused
    FROM messages GROUP BY box),
counted AS (
    SELECT qid, queues.box, dead_box, done_box,
        queues.pending, queues.processing, staged, queues.delayed, queues.paused, dead, unacked_bytes, staged_bytes,
        done,
        ifnull(live.pending, 0) AS n1, ifnull(live.processing, 0) AS n2, ifnull(new.messages, 0) AS n3,
        ifnull(live.delayed, 0) AS n4, ifnull(live.paused, 0) AS n5, ifnull(late.messages, 0) AS n6,
        ifnull(live.bytes, 0) AS n7, ifnull(new.bytes, 0) AS n8,
        (SELECT count(*) FROM records WHERE records.box = done_box) AS n9
    FROM queues LEFT JOIN boxes AS live ON live.box = queues.box LEFT JOIN boxes AS late ON late.box = dead_box
        LEFT JOIN boxes AS new ON new.box = -qid)
SELECT * FROM counted
WHERE (pending, processing, staged, delayed, paused, dead, unacked_bytes, staged_bytes, done)
    <> (n1, n2, n3, n4, n5, n6, n7, n8, n9);

-- name: audit_totals
-- Queues of which less was enqueued than is there, or totals that count backwards.
SELECT qid FROM queues
WHERE min(enqueued, acked, nacked, expired, buried) < 0 OR enqueued < pending + processing + dead;

-- name: audit_lost_messages
-- Messages that belong to no queue and no box in trash, or lie in a box that is not for their state; and of what queue
-- the box is, if it has another one for them.
SELECT id, box, (SELECT qid FROM queues WHERE messages.box IN (queues.box, dead_box) AND state BETWEEN 1 AND 5)
FROM messages
WHERE NOT (state = 0 AND -box IN (SELECT qid FROM queues))
    AND NOT (state IN (1, 2, 3, 5) AND box IN (SELECT box FROM queues))
    AND NOT (state = 4 AND box IN (SELECT dead_box FROM queues))
    AND NOT (state > 0 AND box IN (SELECT box FROM trash));

-- name: audit_lost_bodies
-- Payloads of no message, and how many rows they have beside the first.
SELECT id, (SELECT count(*) FROM chunk WHERE chunk.id = lost.id) FROM
    (SELECT id FROM body WHERE id NOT IN (SELECT id FROM messages)
     UNION SELECT id FROM chunk WHERE id NOT IN (SELECT id FROM messages)) AS lost;

-- name: audit_lost_records
-- Boxes that records lie in, and that are no queue's for such.
SELECT DISTINCT box FROM records
WHERE box NOT IN (SELECT done_box FROM queues) AND box NOT IN (SELECT box FROM trash);

-- name: audit_records
-- Records that say what none may.
SELECT box, id FROM records WHERE status NOT IN ('succeeded', 'failed', 'timeout', 'cancelled');

-- name: audit_states
-- Rows whose columns contradict each other, and whether the state is one that there is.
SELECT id, state BETWEEN 0 AND 5 FROM messages
WHERE state NOT BETWEEN 0 AND 5 OR (state = 2) <> (lease_until IS NOT NULL) OR (partial <> 0 AND state <> 0)
    OR (cancelled <> 0 AND state <> 2)
    OR (state = 3 AND due IS NULL) OR (state IN (2, 4) AND due IS NOT NULL);

-- name: audit_keys
-- Keys of messages that were never given, or whose window ends before it begins.
SELECT qid, key, message FROM keys
WHERE until < published_at OR message > (SELECT max(seq) FROM sqlite_sequence WHERE name = 'messages');

-- name: audit_messages
-- Some messages by id, but those in trash, for a look at their payloads.
SELECT {row} FROM messages WHERE id > ? AND box NOT IN (SELECT box FROM trash) ORDER BY id LIMIT ?;

-- name: audit_chunks
-- The rows of a payload beside the first, in order.
SELECT rowid, position, CAST(data AS BLOB) FROM chunk WHERE id = ? ORDER BY position;

-- name: audit_tree
-- Queues that can't be reached from the root.
WITH RECURSIVE reached (qid) AS
    (VALUES (0) UNION SELECT queues.qid FROM queues JOIN reached ON queues.parent = reached.qid)
SELECT qid, name FROM queues WHERE qid NOT IN reached;

-- Repair -----------------------------------------------------------------------------------------------------------

-- name: repair_find
-- A message, and its queue: the one whose box or dead box it lies in.
SELECT queues.qid, {row_of_messages} FROM messages JOIN queues ON messages.box IN (queues.box, queues.dead_box)
WHERE messages.id = ?;

-- name: repair_is_there
-- Whether there is a message of that id.
SELECT 1 FROM messages WHERE id = ?;

-- name: repair_is_same
-- Whether there is one that had this payload.
SELECT 1 FROM messages WHERE id = ? AND size = ? AND crc = ?;

-- name: repair_set_aside
-- From processing to dead.
UPDATE messages
SET box = ?, state = 4, lease_until = NULL, due = NULL, cancelled = 0, reason = ? WHERE id = ?;

-- name: repair_reason
-- Why it is dead.
UPDATE messages SET reason = ? WHERE id = ?;

-- name: repair_payload
-- What there is of its payload.
UPDATE messages SET size = ?, crc = ?, chunks = ? WHERE id = ?;

-- name: repair_fill
-- Zeros where a row of payload is missing.
INSERT OR IGNORE INTO chunk (id, position, data) VALUES (?, ?, zeroblob(?));

-- name: repair_fill_body
-- Likewise for the first row.
INSERT OR IGNORE INTO body (id, data) VALUES (?, zeroblob(?));

-- name: repair_body_type
-- Bytes again, where a hand at the file has left text.
UPDATE body SET data = CAST(data AS BLOB) WHERE id = ? AND typeof(data) <> 'blob';

-- name: repair_chunk_type
-- Likewise for the rows after it.
UPDATE chunk SET data = CAST(data AS BLOB) WHERE id = ? AND typeof(data) <> 'blob';

-- name: repair_drop_chunk
-- A row of payload that belongs to nothing.
DELETE FROM chunk WHERE rowid = ? AND id = ?;

-- name: repair_box
-- Into the box that its queue has for its state.
UPDATE messages SET box = (SELECT CASE messages.state WHEN 4 THEN dead_box ELSE box END FROM queues WHERE qid = ?)
WHERE id = ? AND state BETWEEN 1 AND 5;

-- name: repair_columns
-- Columns that contradict each other: the state is what counts. A lease that is unknown is over.
UPDATE messages SET
    lease_until = CASE WHEN state = 2 THEN ifnull(lease_until, 0) END,
    partial = partial AND state = 0,
    cancelled = cancelled AND state = 2,
    state = CASE WHEN state = 3 AND due IS NULL THEN 1 ELSE state END,
    due = CASE WHEN state IN (2, 4) THEN NULL ELSE due END
WHERE id = ? AND state BETWEEN 0 AND 5;
