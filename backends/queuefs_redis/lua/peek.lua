-- uses: common
-- ARGV: queue, count. Returns a head and a body for each; messages with a part missing are passed over.
local queue, count = ARGV[1], tonumber(ARGV[2])
if not known(queue) then
  return '-noqueue'
end
local found, at = {'+'}, 0
while #found < 1 + 2 * count do
  local heads = redis.call('ZRANGE', key(queue, 'pending'), at, at + math.min(count, 1000) - 1)
  if #heads == 0 then
    break
  end
  at = at + #heads
  for _, id in ipairs(heads) do
    local meta, body = redis.call('HGET', key(queue, 'meta'), id), redis.call('HGET', key(queue, 'body'), id)
    if meta and body and #found < 1 + 2 * count then
      found[#found + 1] = id .. ' - ' .. meta
      found[#found + 1] = body
    end
  end
end
return found
