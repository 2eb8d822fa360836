-- uses: common, once, pending
-- ARGV: queue, count, lease, now. Returns the ids set aside, then a head and a body for each message claimed.
-- A message whose meta or body is missing is set aside, so that those behind it are reached.
local queue, count = ARGV[4], tonumber(ARGV[5])
if not known(queue) then
  return '-noqueue'
end
local pending, processing = key(queue, 'pending'), key(queue, 'processing')
local metas, bodies = key(queue, 'meta'), key(queue, 'body')

local function claimed(ids, aside)
  local found = {'+' .. table.concat(aside, ' ')}
  for _, id in ipairs(ids) do
    local meta, body = redis.call('HGET', metas, id), redis.call('HGET', bodies, id)
    local until_ = redis.call('ZSCORE', processing, id)
    if meta and body and until_ then -- a recorded claim may have ended since
      found[#found + 1] = table.concat({id, digits(tonumber(until_)), meta}, ' ')
      found[#found + 1] = body
    end
  end
  return found
end

if before then
  local ids = {}
  for id in string.gmatch(before, '%d+') do
    ids[#ids + 1] = id
  end
  return claimed(ids, {})
end

go_on_when_full()
local until_ = digits(clock(ARGV[7]) + ARGV[6])
local ids, aside = {}, {}
while #ids < count do
  local heads = redis.call('ZRANGE', pending, 0, math.min(count - #ids, 1000) - 1)
  if #heads == 0 then
    break
  end
  for _, id in ipairs(heads) do
    local meta = redis.call('HGET', metas, id)
    if meta and redis.call('HEXISTS', bodies, id) == 1 then
      local enqueued, priority, attempt, claims, size, crc = string.match(meta, META)
      redis.call('ZREM', pending, id)
      redis.call('ZADD', processing, until_, id)
      redis.call('HSET', metas, id,
        table.concat({enqueued, priority, digits(attempt + 1), digits(claims + 1), size, crc}, ' '))
      ids[#ids + 1] = id
    else
      redis.call('ZADD', key(queue, 'aside'), redis.call('ZSCORE', pending, id), id)
      redis.call('ZREM', pending, id)
      aside[#aside + 1] = id
    end
  end
end
if #ids > 0 then
  note_lease(queue, until_)
  answer(table.concat(ids, ' '))
end
return claimed(ids, aside)
