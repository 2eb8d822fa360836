-- uses: common, once, pending
-- ARGV: queue, count, lease, now. Returns the ids set aside, then a head and a body for each message claimed.
-- A message whose meta or body is missing is set aside, so that those behind it are reached.
local queue, count = ARGV[4], tonumber(ARGV[5])
local pending, processing = key(queue, 'pending'), key(queue, 'processing')
local metas, bodies = key(queue, 'meta'), key(queue, 'body')
local found = {'+'}

local function add(id, until_, meta, body)
  found[#found + 1] = table.concat({id, until_, meta}, ' ')
  found[#found + 1] = body
end

if before then -- only the ids are recorded; what has been settled meanwhile is left out
  for id in string.gmatch(before, '%d+') do
    local meta, body = redis.call('HGET', metas, id), redis.call('HGET', bodies, id)
    local until_ = redis.call('ZSCORE', processing, id)
    if meta and body and until_ then
      add(id, digits(tonumber(until_)), meta, body)
    end
  end
  return found
end

local until_ = digits(clock(ARGV[7]) + ARGV[6])
local ids, aside = {}, {}

-- The first write, ZREM, is one that a full server allows.
local function take(id)
  local meta, body = redis.call('HGET', metas, id), redis.call('HGET', bodies, id)
  if not (meta and body) then
    local score = redis.call('ZSCORE', pending, id)
    redis.call('ZREM', pending, id)
    redis.call('ZADD', key(queue, 'aside'), score, id)
    aside[#aside + 1] = id
    return
  end
  local enqueued, priority, attempt, claims, size, crc = string.match(meta, META)
  meta = table.concat({enqueued, priority, digits(attempt + 1), digits(claims + 1), size, crc}, ' ')
  redis.call('ZREM', pending, id)
  redis.call('ZADD', processing, until_, id)
  redis.call('HSET', metas, id, meta)
  add(id, until_, meta, body)
  ids[#ids + 1] = id
end

while #ids < count do
  local heads = redis.call('ZRANGE', pending, 0, math.min(count - #ids, 1000) - 1)
  if #heads == 0 then
    break
  end
  for _, id in ipairs(heads) do
    take(id)
  end
end
if #ids > 0 then
  note_lease(queue, until_)
  answer(table.concat(ids, ' '))
elseif not known(queue) then
  return '-noqueue'
end
found[1] = '+' .. table.concat(aside, ' ')
return found
