-- uses: common, once, keys, messages, walk
-- ARGV: queue, count, lease, 1 if the last is first, now. Returns the ids set aside, then a head and a body for each
-- message claimed. One whose meta or body is missing is set aside, so that those behind it are reached.
local queue, wanted = ARGV[4], tonumber(ARGV[5])
local pending, processing = key(queue, 'pending'), key(queue, 'processing')
local metas, bodies = key(queue, 'meta'), key(queue, 'body')
local found = {'+'}

if before then -- only the ids are recorded; what has been settled meanwhile is left out
  for id in string.gmatch(before, '%d+') do
    local meta, body = redis.call('HGET', metas, id), redis.call('HGET', bodies, id)
    local until_ = redis.call('ZSCORE', processing, id)
    if meta and body and until_ then
      found[#found + 1] = table.concat({id, digits(tonumber(until_)), meta}, ' ')
      found[#found + 1] = body
    end
  end
  return found
end

local now = clock(ARGV[8])
local until_ = digits(now + ARGV[6])
local ids, aside = {}, {}

-- The first write, ZREM, is one that a full server allows.
local function take(id)
  local meta, body = redis.call('HGET', metas, id), redis.call('HGET', bodies, id)
  local m = meta and read_meta(meta)
  if not (m and body) then
    move_aside(queue, id, m, 'aside')
    aside[#aside + 1] = id
    return
  end
  if m.expires ~= '-' then
    if tonumber(m.expires) <= now then
      move_aside(queue, id, m, 'over')
      return
    end
    redis.call('ZREM', key(queue, 'expiry'), id)
  end
  redis.call('ZREM', pending, id)
  if m.priority ~= '0' then
    redis.call('ZREM', key(queue, 'odd'), id)
  end
  redis.call('ZADD', processing, until_, id)
  m.attempt, m.claims, m.due = digits(m.attempt + 1), digits(m.claims + 1), '-'
  meta = table.concat({m.enqueued, m.priority, m.attempt, m.claims, m.size, m.crc, m.due, m.expires, m.flag,
    m.key_size, m.reason_size, m.rest}, ' ')
  redis.call('HSET', metas, id, meta)
  found[#found + 1] = table.concat({id, until_, meta}, ' ')
  found[#found + 1] = body
  ids[#ids + 1] = id
end

ripen(queue, now, RIPE_AT_ONCE)
while #ids < wanted do
  local heads = walk(queue, ARGV[7] == '1')(math.min(wanted - #ids, 1000))
  if #heads == 0 then
    break
  end
  for _, id in ipairs(heads) do
    take(id)
  end
end
if #ids > 0 then
  note('leases', queue, until_)
  count(queue, 'dequeued', #ids)
  tell(queue, 'dequeue', ids)
  answer(table.concat(ids, ' '))
elseif not known(queue) then
  return '-noqueue'
end
found[1] = '+' .. table.concat(aside, ' ')
return found
