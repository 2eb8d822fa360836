-- uses: once
-- ARGV: queue, count, lease, 1 if the last is first, now, the length up to which payloads are read ('' for any). Returns
-- the ids set aside, then a head and a payload (see `body_of`) for each message claimed. One whose meta or payload is
-- missing is set aside, so that those behind it are reached.
local queue, wanted, inline = ARGV[4], tonumber(ARGV[5]), ARGV[9]
local pending, metas = key(queue, 'pending'), key(queue, 'meta')
local found = {'+'}

if before then -- only the ids are recorded; what has been settled meanwhile is left out
  for id in string.gmatch(before, '%d+') do
    local meta, until_ = redis.call('HGET', metas, id), redis.call('ZSCORE', key(queue, 'processing'), id)
    local body = meta and until_ and body_of(queue, id, read_meta(meta).size, 'body', inline)
    if body then
      found[#found + 1] = table.concat({id, digits(tonumber(until_)), meta}, ' ')
      found[#found + 1] = body
    end
  end
  return found
end

local now = clock(ARGV[8])
local until_, claimed = digits(now + ARGV[6]), digits(now)
local ids, aside = {}, {}

-- The first write, ZREM, is one that a full server allows.
local function take(id)
  local m = meta_of(queue, id)
  local body = m and body_of(queue, id, m.size, 'body', inline)
  if not body then
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
  found[#found + 1] = table.concat({id, until_, begin_claim(queue, id, m, until_, claimed)}, ' ')
  found[#found + 1] = body
  ids[#ids + 1] = id
end

ripen(queue, now, RIPE_AT_ONCE)
bring_back(queue, inline)
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
