-- Every statement of the back end. A block begins with `-- name: NAME`, then a line on what it is for.

-- name: all_queues
-- Everything the daemon keeps in memory about queues; read at each opening.
SELECT qid, parent, name, uid, gid, mode, created_at, box, pending, processing, staged, unacked_bytes FROM queues;

-- name: find_queue
-- The child of that name.
SELECT qid, parent, name, uid, gid, mode, created_at FROM queues WHERE parent = ? AND name = ?;

-- name: get_queue
-- A queue by its number.
SELECT qid, parent, name, uid, gid, mode, created_at FROM queues WHERE qid = ?;

-- name: children
-- The queues directly below one, by name (BINARY collation: byte for byte).
SELECT qid, parent, name, uid, gid, mode, created_at FROM queues WHERE parent = ? ORDER BY name;

-- name: has_children
-- Whether there is a queue below this one.
SELECT 1 FROM queues WHERE parent = ? LIMIT 1;

-- name: create_queue
-- A new queue with an empty box.
INSERT INTO queues (parent, name, uid, gid, mode, created_at, box) VALUES (?, ?, ?, ?, ?, ?, ?);

-- name: remove_queue
-- The queue's row alone; the caller has made sure that nothing belongs to it.
DELETE FROM queues WHERE qid = ?;

-- name: rename_queue
-- Another place and name; all below follows, because it refers to the number.
UPDATE queues SET parent = ?, name = ? WHERE qid = ?;

-- name: set_owner
-- Who owns a queue.
UPDATE queues SET uid = ?, gid = ?, mode = ? WHERE qid = ?;

-- name: set_counters
-- Once per batch and touched queue.
UPDATE queues SET pending = ?, processing = ?, staged = ?, unacked_bytes = ? WHERE qid = ?;

-- name: last_box
-- The highest number a box has; an empty box that is no one's any more may give its number again.
SELECT max(coalesce((SELECT max(box) FROM queues), 0), coalesce((SELECT max(box) FROM trash), 0));

-- name: last_id
-- The highest id ever given, 0 at first.
SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'messages'), 0);

-- name: stage
-- A new message that only its writer knows.
INSERT INTO messages (box, state, partial, rank, enqueued_at, size, crc) VALUES (?, 0, ?, ?, ?, ?, ?);

-- name: add_body
-- Its first bytes.
INSERT INTO body (id, data) VALUES (?, ?);

-- name: staged
-- What `append` has to know of a message that is being written.
SELECT size, crc, chunks FROM messages WHERE id = ? AND box = ? AND state = 0;

-- name: add_chunk
-- More of its bytes.
INSERT INTO chunk (id, position, data) VALUES (?, ?, ?);

-- name: grow
-- The message after an `append`.
UPDATE messages SET size = ?, crc = ?, chunks = ?, partial = ? WHERE id = ?;

-- name: publish
-- From staged to pending.
UPDATE messages SET state = 1, partial = 0 WHERE id = ?;

-- name: head
-- The pending messages in the order in which they are handed out; read only as far as needed.
SELECT id, state, size, rank, enqueued_at, attempt, claims, lease_until, crc, chunks FROM messages
WHERE box = ? AND state = 1 ORDER BY rank, id;

-- name: body
-- The first bytes of a message.
SELECT data FROM body WHERE id = ?;

-- name: chunks
-- The bytes after them, in order.
SELECT data FROM chunk WHERE id = ? ORDER BY position;

-- name: claim
-- From pending to processing.
UPDATE messages SET state = 2, lease_until = ?, claims = claims + 1, attempt = attempt + 1 WHERE id = ?;

-- name: unacked
-- One pending or processing message, for settling.
SELECT state, claims, size, chunks FROM messages WHERE id = ? AND box = ? AND state > 0;

-- name: nack
-- From processing to pending (`nack`, and leases that ended).
UPDATE messages SET state = 1, lease_until = NULL WHERE id = ?;

-- name: undo
-- As `nack`, and the attempt never was.
UPDATE messages SET state = 1, lease_until = NULL, attempt = attempt - 1 WHERE id = ?;

-- name: extend
-- The lease anew.
UPDATE messages SET lease_until = ? WHERE id = ?;

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
-- All unacknowledged messages by priority and id: two index scans, merged.
SELECT id, state, size, rank, enqueued_at, attempt, claims, lease_until, crc, chunks FROM messages
WHERE box = ?1 AND state = 1
UNION ALL
SELECT id, state, size, rank, enqueued_at, attempt, claims, lease_until, crc, chunks FROM messages
WHERE box = ?1 AND state = 2
ORDER BY rank, id;

-- name: payload_row
-- What is needed to read and check one payload.
SELECT id, state, size, rank, enqueued_at, attempt, claims, lease_until, crc, chunks FROM messages
WHERE id = ? AND box = ? AND state > 0;

-- name: move_box
-- `clear`, first part: the queue gets an empty box.
UPDATE queues SET box = ? WHERE qid = ?;

-- name: move_staged
-- `clear`, second part: what is being written stays with the queue.
UPDATE messages SET box = ? WHERE box = ? AND state = 0;

-- name: throw_away
-- `clear`, third part: the old box is trash.
INSERT INTO trash (box) VALUES (?);

-- name: trash
-- The boxes that wait for their messages to be deleted.
SELECT box FROM trash ORDER BY box;

-- name: in_trash
-- Some messages of a box in trash.
SELECT id, size, chunks FROM
    (SELECT id, size, chunks FROM messages WHERE box = ?1 AND state = 1
     UNION ALL
     SELECT id, size, chunks FROM messages WHERE box = ?1 AND state = 2)
LIMIT ?2;

-- name: forget_trash
-- A box that has been emptied.
DELETE FROM trash WHERE box = ?;

-- name: expired
-- Messages whose lease has ended, in any queue; no queue: they lie in trash.
SELECT messages.id, queues.qid FROM messages LEFT JOIN queues ON queues.box = messages.box
WHERE messages.state = 2 AND messages.lease_until <= ? ORDER BY messages.lease_until LIMIT ?;

-- name: next_lease
-- When the next lease ends.
SELECT min(lease_until) FROM messages WHERE state = 2;

-- name: left_staged
-- What was being written when the last daemon ended. The hints keep it from reading a million pending messages.
SELECT messages.id, messages.partial, messages.size, messages.chunks, queues.qid
FROM messages INDEXED BY messages_staged LEFT JOIN queues ON queues.box = messages.box
WHERE messages.state = 0 AND +messages.id > ? ORDER BY messages.id;

-- name: load_meta
-- The single values.
SELECT key, value FROM meta;

-- name: save_meta
-- One of them.
INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value;

-- name: audit_counters
-- Queues whose counters are not what their rows say.
SELECT queues.qid, pending, processing, staged, unacked_bytes,
    total(state = 1), total(state = 2), total(state = 0), total(size * (state > 0))
FROM queues LEFT JOIN messages ON messages.box = queues.box GROUP BY queues.qid
HAVING pending <> total(state = 1) OR processing <> total(state = 2) OR staged <> total(state = 0)
    OR unacked_bytes <> total(size * (state > 0));

-- name: audit_lost_messages
-- Messages that belong to no queue and no box in trash.
SELECT id, box FROM messages
WHERE box NOT IN (SELECT box FROM queues UNION ALL SELECT box FROM trash);

-- name: audit_lost_bodies
-- Payloads of no message.
SELECT id FROM body WHERE id NOT IN (SELECT id FROM messages)
UNION SELECT id FROM chunk WHERE id NOT IN (SELECT id FROM messages);

-- name: audit_states
-- Rows whose columns contradict each other.
SELECT id FROM messages
WHERE state NOT IN (0, 1, 2) OR (state = 2) <> (lease_until IS NOT NULL) OR (partial <> 0 AND state <> 0)
    OR attempt > claims OR attempt < 0;

-- name: audit_payloads
-- All messages but those in trash, for a look at their payloads.
SELECT id, state, size, rank, enqueued_at, attempt, claims, lease_until, crc, chunks FROM messages
WHERE box NOT IN (SELECT box FROM trash) ORDER BY id;

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
