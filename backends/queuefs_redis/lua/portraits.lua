-- ARGV: queue, ids. Returns for each all that is kept of it, in the order of `PARTS`, '' for what there is not: scores;
-- meta and dead; whether there is something in others; the length of its payload, in whichever part it should be;
-- and the ids that have its key.
local queue = ARGV[1]
local SCORES = {'pending', 'delayed', 'paused', 'over', 'aside', 'waiting', 'processing', 'held', 'odd', 'expiry', 'graves'}

local found = {'+'}

local function add(value)
  found[#found + 1] = value or ''
end

local function length_of(id, m, part)
  if not is_big(m.size) then
    return redis.call('HEXISTS', key(queue, part), id) == 1 and redis.call('HSTRLEN', key(queue, part), id)
  end
  local length = 0
  for at = 0, m.size - 1, PIECE do
    local size = redis.call('HSTRLEN', pieces(queue, id), digits(at))
    if size ~= math.min(PIECE, m.size - at) then
      return length
    end
    length = length + size
  end
  return length
end

for i = 2, #ARGV do
  local id = ARGV[i]
  for _, part in ipairs(SCORES) do
    add(redis.call('ZSCORE', key(queue, part), id))
  end
  local meta, dead = redis.call('HGET', key(queue, 'meta'), id), redis.call('HGET', key(queue, 'dead'), id)
  local m = (meta or dead) and read_meta(meta or dead)
  add(meta)
  add(dead)
  for _, part in ipairs({'body', 'remains', 'staged'}) do
    add(redis.call('HEXISTS', key(queue, part), id) == 1 and '1')
  end
  add(redis.call('SISMEMBER', key(queue, 'big'), id) == 1 and '1')
  add(redis.call('EXISTS', pieces(queue, id)) == 1 and '1')
  local length = m and m.size and length_of(id, m, meta and 'body' or 'remains')
  add(length and digits(length))
  add(meta and m.size and key_of(m) and redis.call('HGET', key(queue, 'keys'), key_of(m)))
end
return found
