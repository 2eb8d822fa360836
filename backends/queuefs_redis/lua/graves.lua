-- uses: common, once, keys, messages
-- ARGV: queue, verb (retry or drop), then '*' for all or ids. Returns one letter for each: D, S (not dead) or U.
if before then
  return before
end
local queue, verb = ARGV[4], ARGV[5]
local dead, remains = key(queue, 'dead'), key(queue, 'remains')
local ids, settled, done = {}, {}, {}
if ARGV[6] == '*' then
  ids = redis.call('HKEYS', dead)
  table.sort(ids)
else
  for i = 6, #ARGV do
    ids[#ids + 1] = ARGV[i]
  end
end

local function retry(id, m, body)
  m.attempt, m.due, m.expires, m.flag = '0', '-', '-', '-'
  if body then
    redis.call('HSET', key(queue, 'body'), id, body)
  end
  write_meta('meta', queue, id, m)
  count(queue, 'bytes', tonumber(m.size))
  if m.key_size ~= '-' then
    hold(queue, key_of(m), id)
  end
  make_pending(queue, id, m)
end

for _, id in ipairs(ids) do
  local meta = redis.call('HGET', dead, id)
  if meta then
    local body = verb == 'retry' and redis.call('HGET', remains, id)
    redis.call('HDEL', dead, id)
    redis.call('HDEL', remains, id)
    if verb == 'retry' then
      retry(id, read_meta(meta), body)
    end
    done[#done + 1] = id
    settled[#settled + 1] = 'D'
  else
    settled[#settled + 1] = standing(queue, id, '') == 'U' and 'U' or 'S'
  end
end
if #done == 0 then
  return known(queue) and '+' .. table.concat(settled) or '-noqueue'
end
tell(queue, verb, done)
return answer(table.concat(settled))
