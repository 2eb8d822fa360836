-- Of staged messages. stages:<daemon>: id -> these fields, and then key and extra; the bytes: staged.
local STAGE = '^' .. string.rep('(%S+) ', 9) .. '(.*)$'

local function read_stage(text)
  local s = {}
  s.queue, s.partial, s.size, s.crc, s.enqueued, s.priority, s.delay, s.ttl, s.key_size, s.rest =
    string.match(text or '', STAGE)
  return s
end

local function write_stage(owner, id, s)
  redis.call('HSET', P .. 'stages:' .. owner, id, table.concat({s.queue, s.partial, s.size, s.crc, s.enqueued, s.priority,
    s.delay, s.ttl, s.key_size, s.rest}, ' '))
end

-- The first write, HDEL, is one that a full server allows.
local function drop_staged(owner, id, s)
  redis.call('HDEL', P .. 'stages:' .. owner, id)
  redis.call('HDEL', key(s.queue, 'staged'), id)
  redis.call('HINCRBY', key(s.queue, 'sums'), 'staged', digits(0 - s.size))
end

local function after(now, seconds)
  return seconds == '0' and '-' or digits(now + seconds)
end

-- Returns the id of the message to which it gave way, or its own.
local function publish_staged(owner, id, s, now, window)
  local queue = s.queue
  local body = redis.call('HGET', key(queue, 'staged'), id)
  drop_staged(owner, id, s)
  local name = s.key_size ~= '-' and string.sub(s.rest, 1, tonumber(s.key_size)) or nil
  if name then
    local first = first_of(queue, name, now, window)
    if first then
      tell(queue, 'repeat', {id})
      return first
    end
    hold(queue, name, id)
    note_publication(queue, name, id, now, window)
  end
  local m = {enqueued = s.enqueued, priority = s.priority, attempt = '0', claims = '0', size = s.size, crc = s.crc,
    due = after(now, s.delay), expires = after(now, s.ttl), flag = '-', key_size = s.key_size, reason_size = '-',
    rest = s.rest}
  if body then
    redis.call('HSET', key(queue, 'body'), id, body)
  end
  write_meta('meta', queue, id, m)
  redis.call('HINCRBY', key(queue, 'sums'), 'bytes', s.size)
  redis.call('HINCRBY', key(queue, 'sums'), 'enqueued', 1)
  make_pending(queue, id, m)
  tell(queue, 'publish', {id})
  return id
end

-- Does with a stage what its owner, being dead, can't; returns its queue and whether it was published.
local function adopt(owner, id, now)
  local s = read_stage(redis.call('HGET', P .. 'stages:' .. owner, id))
  if s.partial == '1' then
    drop_staged(owner, id, s)
    tell(s.queue, 'discard', {id})
    return s.queue, false
  end
  return s.queue, publish_staged(owner, id, s, now, 0) == id
end
