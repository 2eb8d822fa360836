-- Of messages in processing. `processing` has them by the end of the lease, `held` by rank (see `messages.lua`).
local function hold_message(queue, id, until_, rank)
  redis.call('ZADD', key(queue, 'processing'), until_, id)
  redis.call('ZADD', key(queue, 'held'), rank, id)
end

-- Begins a claim of a message that was taken out of its place; returns the text of its meta.
local function begin_claim(queue, id, m, until_, now)
  m.attempt, m.claims, m.claimed, m.due = digits(m.attempt + 1), digits(m.claims + 1), now, '-'
  local text = meta_text(m)
  redis.call('HSET', key(queue, 'meta'), id, text)
  hold_message(queue, id, until_, rank_of(m))
  return text
end

-- The first write, ZREM, is one that a full server allows. Returns the rank of one without meta.
local function end_claim(queue, id, m)
  local held = key(queue, 'held')
  local rank = not m and redis.call('ZSCORE', held, id) or nil
  redis.call('ZREM', key(queue, 'processing'), id)
  redis.call('ZREM', held, id)
  return rank
end

-- Settles a message in processing for good.
local function finish(queue, id, m, status, detail)
  leave_record(queue, id, m, status, detail)
  end_claim(queue, id, m)
  forget(queue, id, m)
end

-- Back from processing, and the claim was no attempt; returns whether the message is still there.
local function undo(queue, id, m)
  if m then
    m.attempt = digits(m.attempt - 1)
  end
  if m and m.flag == 'C' then
    finish(queue, id, m, 'cancelled', '')
    return false
  end
  local rank = end_claim(queue, id, m)
  if m then
    write_meta('meta', queue, id, m)
  end
  make_pending(queue, id, m, rank)
  return true
end
