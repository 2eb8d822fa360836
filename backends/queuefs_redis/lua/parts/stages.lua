-- Of staged messages. stages:<daemon>: id -> these fields, and then key and extra; the bytes: staged.
local STAGE = '^(%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (.*)$'

-- All fields are nil if there is none.
local function read_stage(owner, id)
  local s = {}
  s.queue, s.partial, s.size, s.crc, s.enqueued, s.priority, s.delay, s.ttl, s.key_size, s.rest =
    string.match(redis.call('HGET', P .. 'stages:' .. owner, id) or '', STAGE)
  return s
end

local function write_stage(owner, id, s)
  redis.call('HSET', P .. 'stages:' .. owner, id, table.concat({s.queue, s.partial, s.size, s.crc, s.enqueued, s.priority,
    s.delay, s.ttl, s.key_size, s.rest}, ' '))
end

-- The first write, HDEL, is one that a full server allows. The payload stays where it is.
local function end_stage(owner, id, s)
  redis.call('HDEL', P .. 'stages:' .. owner, id)
  count(s.queue, 'staged', 0 - s.size)
end

local function drop_staged(owner, id, s)
  end_stage(owner, id, s)
  drop_body(s.queue, id, 'staged', s.size)
end

-- Of stages that become messages.

-- Makes of a stage what is kept of a message; the payload becomes one of *part*.
local function meta_of_staged(owner, id, s, part)
  end_stage(owner, id, s)
  if is_big(s.size) then
    redis.call('HDEL', key(s.queue, 'staged'), id)
  else
    move_body(s.queue, id, s.size, 'staged', s.queue, part)
  end
  return {enqueued = s.enqueued, priority = s.priority, attempt = '0', claims = '0', claimed = '-', size = s.size,
    crc = s.crc, due = '-', expires = '-', flag = '-', key_size = s.key_size, reason_size = '-', rest = s.rest}
end

local function after(now, seconds)
  return seconds == '0' and '-' or digits(now + seconds)
end

-- Returns the id of the message to which it gave way, or its own.
local function publish_staged(owner, id, s, now, window)
  local queue = s.queue
  local name = s.key_size ~= '-' and string.sub(s.rest, 1, tonumber(s.key_size)) or nil
  if name then
    local first = first_of(queue, name, now, window)
    if first then
      drop_staged(owner, id, s)
      tell(queue, 'repeat', {id})
      return first
    end
  end
  local m = meta_of_staged(owner, id, s, 'body')
  if name then
    hold(queue, name, id)
    note_publication(queue, name, id, now, window)
  end
  m.due, m.expires = after(now, s.delay), after(now, s.ttl)
  write_meta('meta', queue, id, m)
  count_unacked(queue, 1, tonumber(s.size))
  count(queue, 'enqueued', 1)
  make_pending(queue, id, m)
  tell(queue, 'publish', {id})
  return id
end

-- Does with a stage what its owner, being dead, can't; returns its queue and whether it was published.
local function adopt(owner, id, now)
  local s = read_stage(owner, id)
  if s.partial == '1' then
    drop_staged(owner, id, s)
    tell(s.queue, 'discard', {id})
    return s.queue, false
  end
  return s.queue, publish_staged(owner, id, s, now, 0) == id
end
