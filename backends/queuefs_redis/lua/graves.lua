-- uses: once
-- ARGV: queue, verb (retry or drop), then '*' for all or ids. Returns one letter for each: D, S (not dead) or U.
if before then
  return before
end
local queue, verb = ARGV[4], ARGV[5]
local dead, graves = key(queue, 'dead'), key(queue, 'graves')
local ids, settled, done = {}, {}, {}
if ARGV[6] == '*' then
  ids = redis.call('ZRANGE', graves, 0, -1)
else
  for i = 6, #ARGV do
    ids[#ids + 1] = ARGV[i]
  end
end

local function retry(id, m)
  move_body(queue, id, m.size, 'remains', queue, 'body')
  m.attempt, m.due, m.expires, m.flag = '0', '-', '-', '-'
  write_meta('meta', queue, id, m)
  count_unacked(queue, 1, tonumber(m.size))
  if m.key_size ~= '-' then
    hold(queue, key_of(m), id)
  end
  make_pending(queue, id, m)
end

for _, id in ipairs(ids) do
  local meta = redis.call('HGET', dead, id)
  if meta then
    redis.call('HDEL', dead, id)
    redis.call('ZREM', graves, id)
    local m = read_meta(meta)
    if verb == 'retry' then
      retry(id, m)
    else
      drop_body(queue, id, 'remains', m.size)
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
