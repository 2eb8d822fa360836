-- Every statement of the back end. A block begins with `-- name: NAME`, then a line on what it is for.
-- Lists of columns that several of them have are filled in by queries.py, and here in braces.

-- Queues -----------------------------------------------------------------------------------------------------------

-- name: all_queues
-- Everything the daemon keeps in memory about queues; read at each opening.
SELECT {queue}, box, dead_box, {counters} FROM queues;

-- name: find_queue
-- The child of that name.
SELECT {queue} FROM queues WHERE parent = ? AND name = ?;

-- name: get_queue
-- A queue by its number.
SELECT {queue} FROM queues WHERE qid = ?;

-- name: children
-- The queues directly below one, by name (BINARY collation: byte for byte).
SELECT {queue} FROM queues WHERE parent = ? ORDER BY name;

-- name: has_children
-- Whether there is a queue below this one.
SELECT 1 FROM queues WHERE parent = ? LIMIT 1;

-- name: create_queue
-- A new queue with empty boxes.
INSERT INTO queues (parent, name, uid, gid, mode, created_at, box, dead_box) VALUES (?, ?, ?, ?, ?, ?, ?, ?);

-- name: remove_queue
-- The queue's row alone; the caller has made sure that nothing belongs to it.
DELETE FROM queues WHERE qid = ?;

-- name: rename_queue
-- Another place and name; all below follows, because it refers to the number.
UPDATE queues SET parent = ?, name = ? WHERE qid = ?;

-- name: set_owner
-- Who owns a queue.
UPDATE queues SET uid = ?, gid = ?, mode = ? WHERE qid = ?;

-- name: set_config
-- What its config file holds.
UPDATE queues SET config = ? WHERE qid = ?;

-- name: set_counters
-- Once per batch and touched queue.
UPDATE queues SET ({counters}) = ({counter_values}) WHERE qid = ?;

-- name: set_box
-- `clear`, first part: the queue gets an empty box. At once, because others of this batch find a queue by its box.
UPDATE queues SET box = ? WHERE qid = ?;

-- name: set_dead_box
-- `drop` of all dead messages, likewise.
UPDATE queues SET dead_box = ? WHERE qid = ?;

-- name: throw_away
-- Second part of both: the old box is trash.
INSERT INTO trash (box) VALUES (?);

-- name: last_box
-- The highest number a box has; an empty box that is no one's any more may give its number again.
SELECT max(coalesce((SELECT max(max(box), max(dead_box)) FROM queues), 0), coalesce((SELECT max(box) FROM trash), 0));

-- Writing ----------------------------------------------------------------------------------------------------------

-- name: last_id
-- The highest id ever given, 0 at first.
SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'messages'), 0);

-- name: forget_ids
-- First part of `skip_ids`: the table has no key, and a row for `messages` only after the first.
DELETE FROM sqlite_sequence WHERE name = 'messages';

-- name: skip_ids
-- The next id is higher than this one.
INSERT INTO sqlite_sequence (name, seq) VALUES ('messages', ?);

-- name: stage
-- A new message that only its writer knows.
INSERT INTO messages (box, state, partial, rank, due, expires_at, key, extra, enqueued_at, size, crc)
VALUES (?, 0, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: add_body
-- Its first bytes.
INSERT INTO body (id, data) VALUES (?, ?);

-- name: staged
-- A message that is being written.
SELECT size, crc, chunks, due, expires_at, key FROM messages WHERE id = ? AND box = ? AND state = 0;

-- name: add_chunk
-- More of its bytes.
INSERT INTO chunk (id, position, data) VALUES (?, ?, ?);

-- name: grow
-- The message after an `append`.
UPDATE messages SET size = ?, crc = ?, chunks = ?, partial = ? WHERE id = ?;

-- name: publish
-- From staged to pending.
UPDATE messages SET box = ?, state = ?, partial = 0, due = ?, expires_at = ? WHERE id = ?;

-- name: key_holder
-- An unacknowledged message of that key: nothing else lies in a queue's box.
SELECT id FROM messages INDEXED BY messages_key WHERE box = ? AND key = ? LIMIT 1;

-- name: last_of_key
-- What was published last under that key, less than so long ago.
SELECT message FROM keys WHERE qid = ? AND key = ? AND published_at > ?;

-- name: note_key
-- What was published under that key.
INSERT INTO keys (qid, key, message, published_at, until) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (qid, key) DO UPDATE
SET message = excluded.message, published_at = excluded.published_at, until = excluded.until;

-- Reading ----------------------------------------------------------------------------------------------------------

-- name: oldest_first
-- The ready messages in the order in which they are handed out.
SELECT {row} FROM messages INDEXED BY messages_ready
WHERE box = ? AND state = 1 AND ifnull(expires_at, 9e999) > ? ORDER BY rank, id LIMIT ?;

-- name: next_rank
-- The rank that follows in a box. Lifo goes rank by rank: no index has the one ascending and the id descending.
SELECT rank FROM messages INDEXED BY messages_ready WHERE box = ? AND state = 1 AND rank > ? ORDER BY rank LIMIT 1;

-- name: newest_first
-- The ready messages of one rank, the newest first.
SELECT {row} FROM messages INDEXED BY messages_ready
WHERE box = ? AND state = 1 AND rank = ? AND ifnull(expires_at, 9e999) > ? ORDER BY id DESC LIMIT ?;

-- name: ripe_oldest_first
-- Those whose delay has ended, and that no round of upkeep has met since; seldom more than a few, and sorted.
SELECT {row} FROM messages INDEXED BY messages_delayed
WHERE box = ? AND state = 3 AND due <= ? AND ifnull(expires_at, 9e999) > ? ORDER BY rank, id LIMIT ?;

-- name: ripe_newest_first
-- As above.
SELECT {row} FROM messages INDEXED BY messages_delayed
WHERE box = ? AND state = 3 AND due <= ? AND ifnull(expires_at, 9e999) > ? ORDER BY rank, id DESC LIMIT ?;

-- name: ripe
-- Some messages of a queue whose delay has ended.
SELECT id FROM messages INDEXED BY messages_delayed WHERE box = ? AND state = 3 AND due <= ? LIMIT ?;

-- name: ripen
-- From delayed to ready.
UPDATE messages SET state = 1 WHERE id = ?;

-- name: body
-- The first bytes of a message.
SELECT data FROM body WHERE id = ?;

-- name: chunks
-- The bytes after them, in order.
SELECT data FROM chunk WHERE id = ? ORDER BY position;

-- name: claim
-- From pending to processing.
UPDATE messages SET state = 2, lease_until = ?, due = NULL, claims = claims + 1, attempt = attempt + 1 WHERE id = ?;

-- name: message
-- One message of a box, for settling and for a look.
SELECT {row} FROM messages WHERE id = ? AND box = ?;

-- name: give_back
-- From processing to pending or dead (`nack`, and leases that ended).
UPDATE messages SET box = ?, state = ?, lease_until = NULL, due = ?, reason = coalesce(?, reason) WHERE id = ?;

-- name: undo
-- From processing to pending; the attempt never was.
UPDATE messages SET state = 1, lease_until = NULL, attempt = attempt - 1 WHERE id = ?;

-- name: extend
-- The lease anew.
UPDATE messages SET lease_until = ? WHERE id = ?;

-- name: set_state
-- From one kind of pending to another (`pause`, `resume`).
UPDATE messages SET state = ? WHERE id = ?;

-- name: cancel
-- It shall not be done.
UPDATE messages SET cancelled = 1 WHERE id = ?;

-- name: retry
-- From dead to pending.
UPDATE messages SET box = ?, state = 1, attempt = 0, due = NULL, expires_at = NULL WHERE id = ?;

-- name: retry_all
-- As `retry`, for all of a dead box: a few times as quick as one by one.
UPDATE messages SET box = ?, state = 1, attempt = 0, due = NULL, expires_at = NULL WHERE box = ? AND state = 4;

-- name: dead_bytes
-- The sum of their payload sizes.
SELECT coalesce(sum(size), 0) FROM messages WHERE box = ? AND state = 4;

-- name: delete_message
-- The message's row.
DELETE FROM messages WHERE id = ?;

-- name: delete_body
-- Its first bytes.
DELETE FROM body WHERE id = ?;

-- name: delete_chunks
-- The bytes after them.
DELETE FROM chunk WHERE id = ?;

-- name: snapshot
-- All unacknowledged messages by priority and id; all of them are read, so that they may be sorted.
SELECT {row} FROM messages INDEXED BY messages_age WHERE box = ?1 AND state & 1
UNION ALL
SELECT {row} FROM messages INDEXED BY messages_processing WHERE box = ?1 AND state = 2
ORDER BY rank, id;

-- name: dead
-- All dead messages of a dead box by id.
SELECT {row} FROM messages WHERE box = ? AND state = 4 ORDER BY id;

-- name: oldest_pending
-- When the oldest pending message of a box was enqueued.
SELECT enqueued_at FROM messages INDEXED BY messages_age WHERE box = ? AND state & 1 ORDER BY id LIMIT 1;

-- Upkeep -----------------------------------------------------------------------------------------------------------

-- name: overdue
-- Messages whose lease has ended, in any queue; no queue: they lie in trash.
SELECT messages.id, queues.qid, claims, attempt, cancelled, chunks
FROM messages INDEXED BY messages_lease LEFT JOIN queues ON queues.box = messages.box
WHERE state = 2 AND lease_until <= ? ORDER BY lease_until LIMIT ?;

-- name: all_due
-- Messages whose delay has ended, in any queue.
SELECT messages.id, queues.qid, chunks
FROM messages INDEXED BY messages_due LEFT JOIN queues ON queues.box = messages.box
WHERE state = 3 AND due <= ? ORDER BY due LIMIT ?;

-- name: lapsed
-- Pending messages whose time to live has ended, in any queue.
SELECT messages.id, queues.qid, chunks, state, size
FROM messages INDEXED BY messages_expiry LEFT JOIN queues ON queues.box = messages.box
WHERE state & 1 AND expires_at IS NOT NULL AND expires_at <= ? ORDER BY expires_at LIMIT ?;

-- name: next_lease
-- When the next lease ends that has not ended yet.
SELECT min(lease_until) FROM messages WHERE state = 2 AND lease_until > ?;

-- name: next_delay
-- When the next delay ends.
SELECT min(due) FROM messages WHERE state = 3;

-- name: next_lapse
-- When the next pending message lapses.
SELECT min(expires_at) FROM messages INDEXED BY messages_expiry WHERE state & 1 AND expires_at IS NOT NULL;

-- name: forget_keys
-- Some of the keys whose window is over; an unacknowledged message keeps its key without them.
DELETE FROM keys WHERE rowid IN (SELECT rowid FROM keys WHERE until <= ? ORDER BY until LIMIT ?);

-- name: left_staged
-- What was being written when the last daemon ended. The hint keeps it from reading a million pending messages.
SELECT messages.id, partial, size, chunks, due, expires_at, key, queues.qid
FROM messages INDEXED BY messages_being_written LEFT JOIN queues ON queues.qid = -messages.box
WHERE state = 0 AND messages.id <= ? ORDER BY messages.id LIMIT ?;

-- name: staged_after
-- What a failed commit staged after that id.
SELECT messages.id, size, chunks, queues.qid
FROM messages INDEXED BY messages_being_written LEFT JOIN queues ON queues.qid = -messages.box
WHERE state = 0 AND messages.id > ?;

-- name: trash
-- The boxes that wait for their messages to be deleted.
SELECT box FROM trash ORDER BY box;

-- name: in_trash
-- Some messages of a box in trash.
SELECT id, size, chunks FROM
    (SELECT id, size, chunks FROM messages INDEXED BY messages_age WHERE box = ?1 AND state & 1
     UNION ALL
     SELECT id, size, chunks FROM messages INDEXED BY messages_processing WHERE box = ?1 AND state = 2
     UNION ALL
     SELECT id, size, chunks FROM messages INDEXED BY messages_dead WHERE box = ?1 AND state = 4)
LIMIT ?2;

-- name: forget_trash
-- A box that has been emptied.
DELETE FROM trash WHERE box = ?;

-- name: load_meta
-- The single values.
SELECT key, value FROM meta;

-- name: save_meta
-- One of them.
INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value;

-- Audit ------------------------------------------------------------------------------------------------------------

-- name: audit_counters
-- Queues whose counters are not what their rows say.
WITH boxes AS MATERIALIZED (
    SELECT box, count(*) AS messages, total(size) AS bytes, total(state & 1) AS pending,
        total(state = 2) AS processing, total(state = 3) AS delayed, total(state = 5) AS paused
    FROM messages GROUP BY box),
counted AS (
    SELECT qid, queues.pending, queues.processing, staged, queues.delayed, queues.paused, dead,
        unacked_bytes, staged_bytes,
        ifnull(live.pending, 0) AS n1, ifnull(live.processing, 0) AS n2, ifnull(new.messages, 0) AS n3,
        ifnull(live.delayed, 0) AS n4, ifnull(live.paused, 0) AS n5, ifnull(late.messages, 0) AS n6,
        ifnull(live.bytes, 0) AS n7, ifnull(new.bytes, 0) AS n8
    FROM queues LEFT JOIN boxes AS live ON live.box = queues.box LEFT JOIN boxes AS late ON late.box = dead_box
        LEFT JOIN boxes AS new ON new.box = -qid)
SELECT * FROM counted
WHERE (pending, processing, staged, delayed, paused, dead, unacked_bytes, staged_bytes)
    <> (n1, n2, n3, n4, n5, n6, n7, n8);

-- name: audit_totals
-- Queues of which less was enqueued than left or is there, or less was dequeued than was settled or is held.
SELECT qid FROM queues
WHERE min(enqueued, dequeued, acked, nacked, expired, buried) < 0 OR dequeued < acked
    OR enqueued < pending + processing + dead;

-- name: audit_lost_messages
-- Messages that belong to no queue and no box in trash, or lie in a box that is not for their state.
SELECT id, box FROM messages
WHERE NOT (state = 0 AND -box IN (SELECT qid FROM queues))
    AND NOT (state IN (1, 2, 3, 5) AND box IN (SELECT box FROM queues))
    AND NOT (state = 4 AND box IN (SELECT dead_box FROM queues))
    AND NOT (state > 0 AND box IN (SELECT box FROM trash));

-- name: audit_lost_bodies
-- Payloads of no message.
SELECT id FROM body WHERE id NOT IN (SELECT id FROM messages)
UNION SELECT id FROM chunk WHERE id NOT IN (SELECT id FROM messages);

-- name: audit_states
-- Rows whose columns contradict each other.
SELECT id FROM messages
WHERE state NOT BETWEEN 0 AND 5 OR (state = 2) <> (lease_until IS NOT NULL) OR (partial <> 0 AND state <> 0)
    OR attempt > claims OR attempt < 0 OR (cancelled <> 0 AND state <> 2)
    OR (state = 3 AND due IS NULL) OR (state IN (2, 4) AND due IS NOT NULL);

-- name: audit_keys
-- Keys of messages that were never given, or whose window ends before it begins.
SELECT key, message FROM keys
WHERE until < published_at OR message > (SELECT max(seq) FROM sqlite_sequence WHERE name = 'messages');

-- name: audit_payloads
-- All messages but those in trash, for a look at their payloads.
SELECT {row} FROM messages WHERE box NOT IN (SELECT box FROM trash) ORDER BY id;

-- name: audit_chunks
-- Messages that do not have as many chunks as they should, or with a gap between them.
SELECT messages.id FROM messages LEFT JOIN chunk ON chunk.id = messages.id
GROUP BY messages.id
HAVING count(chunk.id) <> messages.chunks
    OR (messages.chunks > 0 AND messages.size <> min(position) + total(length(chunk.data)));

-- name: audit_tree
-- Queues that can't be reached from the root.
WITH RECURSIVE reached (qid) AS
    (VALUES (0) UNION SELECT queues.qid FROM queues JOIN reached ON queues.parent = reached.qid)
SELECT qid, name FROM queues WHERE qid NOT IN reached;
