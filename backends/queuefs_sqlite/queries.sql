-- Every statement of the back end. A block begins with `-- name: NAME`, then a line on what it is for.
-- Lists of columns that several of them have are filled in by queries.py, and here in braces.

-- Queues -----------------------------------------------------------------------------------------------------------

-- name: all_queues
-- Everything the daemon keeps in memory about queues; read at each opening.
SELECT {queue}, {account} FROM queues;

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
INSERT INTO queues (parent, name, uid, gid, mode, created_at, box, dead_box, done_box)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: remove_queue
-- The queue's row alone; the caller has made sure that nothing belongs to it.
DELETE FROM queues WHERE qid = ?;

-- name: rename_queue
-- Another place and name; all below follows, because it refers to the number.
UPDATE queues SET parent = ?, name = ? WHERE qid = ?;

-- name: set_owner
-- Who owns a queue.
UPDATE queues SET uid = ?, gid = ?, mode = ? WHERE qid = ?;

-- name: set_files
-- Who owns single files of it.
UPDATE queues SET files = ? WHERE qid = ?;

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

-- name: set_done_box
-- `prune` of all records, likewise.
UPDATE queues SET done_box = ? WHERE qid = ?;

-- name: throw_away
-- Second part of these: the old box is trash.
INSERT OR IGNORE INTO trash (box) VALUES (?);

-- name: last_box
-- The highest number a box has; an empty box that is no one's any more may give its number again.
SELECT max(
    coalesce((SELECT max(max(box), max(dead_box), max(done_box)) FROM queues), 0),
    coalesce((SELECT max(box) FROM trash), 0));

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

-- name: stage_as
-- Likewise, under an id that it had in another store.
INSERT INTO messages (box, state, partial, rank, due, expires_at, key, extra, enqueued_at, size, crc, id)
VALUES (?, 0, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: in_the_way
-- What has an id that is asked for: whether it is in trash.
SELECT messages.box IN (SELECT box FROM trash) FROM messages WHERE id = ?;

-- name: count_chunks
-- How many rows of its payload there are beside the first.
UPDATE messages SET chunks = ? WHERE id = ?;

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

-- name: restore
-- From staged to what it was in another store.
UPDATE messages SET
    box = ?, state = ?, partial = 0, rank = ?, lease_until = ?, due = ?, expires_at = ?, claims = ?, attempt = ?,
    cancelled = ?, enqueued_at = ?, key = ?, reason = ?, extra = ?, claimed_at = ?
WHERE id = ?;

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

-- name: forget_key
-- What was published under a key has gone elsewhere.
DELETE FROM keys WHERE qid = ? AND key = ? AND message = ?;

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
-- The first bytes of a message. (A hand at the file may have left text where a BLOB was: its checksum will tell.)
SELECT CAST(data AS BLOB) FROM body WHERE id = ?;

-- name: chunks
-- The bytes after them, in order.
SELECT CAST(data AS BLOB) FROM chunk WHERE id = ? ORDER BY position;

-- name: body_piece
-- What the first bytes have of the bytes from one on (of so many): how many they are, and those wanted. SQLite reads a
-- whole row for a part of it; one longer than so many bytes is left to be read otherwise.
SELECT length(data), CASE WHEN length(data) BETWEEN ?2 + 1 AND ?4 THEN substr(data, ?2 + 1, ?3) END
FROM body WHERE id = ?1 AND typeof(data) = 'blob';

-- name: chunk_pieces
-- What each of the rows after them has of those from one byte on and before another.
SELECT rowid, position, length(data), CASE
    WHEN length(data) <= ?4 THEN substr(data, max(?2 - position, 0) + 1, ?3 - max(position, ?2)) END
FROM chunk
WHERE id = ?1 AND position >= ifnull((SELECT max(position) FROM chunk WHERE id = ?1 AND position <= ?2), 0)
    AND position < ?3 AND typeof(data) = 'blob'
ORDER BY position;

-- name: claim
-- From pending to processing.
UPDATE messages
SET state = 2, lease_until = ?, claimed_at = ?, due = NULL, claims = claims + 1, attempt = attempt + 1 WHERE id = ?;

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

-- name: bury
-- From pending to dead.
UPDATE messages SET box = ?, state = 4, due = NULL, reason = coalesce(?, reason) WHERE id = ?;

-- name: move
-- To another queue's box.
UPDATE messages SET box = ? WHERE id = ?;

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

-- Records ----------------------------------------------------------------------------------------------------------

-- name: add_record
-- What is kept of a message that is done, if there is none of its id.
INSERT OR IGNORE INTO records (box, {record}) VALUES (?, {record_values});

-- name: delete_record
-- One of them.
DELETE FROM records WHERE box = ? AND id = ?;

-- name: record
-- One of them, for a look.
SELECT {record} FROM records WHERE box = ? AND id = ?;

-- name: records_at
-- The records of a box that ended at one time, the highest id first.
SELECT {record} FROM records INDEXED BY records_ended
WHERE box = ? AND finished_at = ? AND id < ? ORDER BY id DESC LIMIT ?;

-- name: records_before
-- Those that ended before it, the latest first.
SELECT {record} FROM records INDEXED BY records_ended
WHERE box = ? AND finished_at < ? ORDER BY finished_at DESC, id DESC LIMIT ?;

-- name: early_records
-- The earliest ones.
SELECT finished_at, id FROM records WHERE box = ? ORDER BY finished_at, id LIMIT ?;

-- name: drop_early_records
-- So many of them.
DELETE FROM records WHERE rowid IN
    (SELECT rowid FROM records INDEXED BY records_ended WHERE box = ? ORDER BY finished_at, id LIMIT ?);

-- name: record_from_first
-- The one after so many, from the earliest.
SELECT finished_at, id FROM records WHERE box = ? ORDER BY finished_at, id LIMIT 1 OFFSET ?;

-- name: record_from_last
-- Likewise, from the latest.
SELECT finished_at, id FROM records WHERE box = ? ORDER BY finished_at DESC, id DESC LIMIT 1 OFFSET ?;

-- name: first_record
-- When the earliest one ended.
SELECT min(finished_at) FROM records WHERE box = ?;

-- Going ------------------------------------------------------------------------------------------------------------

-- name: litter
-- It is gone for everybody, and too large to be deleted now: it lies in trash, as a dead one without anything.
UPDATE messages
SET box = 0, state = 4, partial = 0, lease_until = NULL, due = NULL, expires_at = NULL, cancelled = 0, key = NULL
WHERE id = ?;

-- name: delete_some_chunks
-- So many of its rows of payload.
DELETE FROM chunk WHERE rowid IN (SELECT rowid FROM chunk WHERE id = ? ORDER BY position DESC LIMIT ?);

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

-- Pages ------------------------------------------------------------------------------------------------------------

-- name: ready_at
-- The ready messages of a box, from one id on among those of its rank.
SELECT {row} FROM messages INDEXED BY messages_ready
WHERE box = ? AND state = 1 AND rank = ? AND id > ? ORDER BY id LIMIT ?;

-- name: ready_after
-- Those of later ranks, in order.
SELECT {row} FROM messages INDEXED BY messages_ready
WHERE box = ? AND state = 1 AND rank > ? ORDER BY rank, id LIMIT ?;

-- name: ready_back
-- As the first, from one id down.
SELECT {row} FROM messages INDEXED BY messages_ready
WHERE box = ? AND state = 1 AND rank = ? AND id <= ? ORDER BY id DESC LIMIT ?;

-- name: held_at
-- Delayed and paused messages of a box, from one id on among those of its rank.
SELECT {row} FROM messages INDEXED BY messages_held
WHERE box = ? AND state & 1 AND state > 1 AND rank = ? AND id > ? ORDER BY id LIMIT ?;

-- name: held_after
-- Those of later ranks, in order.
SELECT {row} FROM messages INDEXED BY messages_held
WHERE box = ? AND state & 1 AND state > 1 AND rank > ? ORDER BY rank, id LIMIT ?;

-- name: held_back
-- As the first, from one id down.
SELECT {row} FROM messages INDEXED BY messages_held
WHERE box = ? AND state & 1 AND state > 1 AND rank = ? AND id <= ? ORDER BY id DESC LIMIT ?;

-- name: next_held_rank
-- The rank that follows among them.
SELECT rank FROM messages INDEXED BY messages_held
WHERE box = ? AND state & 1 AND state > 1 AND rank > ? ORDER BY rank LIMIT 1;

-- name: processing_at
-- Messages in processing, from one id on among those of its rank.
SELECT {row} FROM messages INDEXED BY messages_processing
WHERE box = ? AND state = 2 AND rank = ? AND id > ? ORDER BY id LIMIT ?;

-- name: processing_after
-- Those of later ranks, in order.
SELECT {row} FROM messages INDEXED BY messages_processing
WHERE box = ? AND state = 2 AND rank > ? ORDER BY rank, id LIMIT ?;

-- name: dead_after
-- Dead messages of a dead box, from one id on.
SELECT {row} FROM messages INDEXED BY messages_dead WHERE box = ? AND state = 4 AND id > ? ORDER BY id LIMIT ?;

-- name: oldest_pending
-- When the oldest pending message of a box was enqueued.
SELECT enqueued_at FROM messages INDEXED BY messages_age WHERE box = ? AND state & 1 ORDER BY id LIMIT 1;

-- Upkeep -----------------------------------------------------------------------------------------------------------

-- name: overdue
-- Messages whose lease has ended, in any queue; no queue: they lie in trash.
SELECT messages.id, queues.qid, claims, attempt, cancelled, chunks, size
FROM messages INDEXED BY messages_lease LEFT JOIN queues ON queues.box = messages.box
WHERE state = 2 AND lease_until <= ? ORDER BY lease_until LIMIT ?;

-- name: all_due
-- Messages whose delay has ended, in any queue.
SELECT messages.id, queues.qid, chunks, size
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
SELECT id FROM messages INDEXED BY messages_being_written WHERE state = 0 ORDER BY id;

-- name: inherited
-- One of these, if it is still as it was.
SELECT partial, size, chunks, due, expires_at, key, queues.qid
FROM messages LEFT JOIN queues ON queues.qid = -messages.box WHERE messages.id = ? AND state = 0;

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

-- name: delete_some_records
-- Some records of a box in trash.
DELETE FROM records WHERE rowid IN (SELECT rowid FROM records WHERE box = ? LIMIT ?);

-- name: forget_trash
-- A box that has been emptied.
DELETE FROM trash WHERE box = ?;

-- name: load_meta
-- The single values.
SELECT key, value FROM meta;

-- name: save_meta
-- One of them.
INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value;
