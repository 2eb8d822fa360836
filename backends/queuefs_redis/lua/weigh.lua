-- ARGV: queue, how many messages to weigh, and where the last call ended: a part ('' at first), a rank and an id. Returns
-- all that changes when messages do, the sum that is kept of their sizes, the sum of these messages' sizes, and where
-- this call ended; '' for the part once all are weighed.
local queue, left, part, rank_, id = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4], ARGV[5]
local NEXT = {pending = 'waiting', waiting = 'held', held = ''}
local sum = 0
part = part == '' and 'pending' or part
repeat
  local some = behind(key(queue, part), left, rank_ ~= '' and rank_ or nil, id)
  for i = 1, #some, 2 do
    local m = meta_of(queue, some[i])
    sum = sum + (m and tonumber(m.size) or 0)
  end
  if #some < 2 * left then
    part, rank_, id = NEXT[part], '', ''
  else
    rank_, id = some[#some], some[#some - 1]
  end
  left = left - #some / 2
until part == '' or left == 0
local sums = redis.call('HMGET', key(queue, 'sums'), 'bytes', 'enqueued', 'dequeued', 'acked', 'nacked', 'expired', 'buried')
for i = 1, 7 do
  sums[i] = sums[i] or '0'
end
for _, each in ipairs({'pending', 'waiting', 'held', 'graves'}) do
  sums[#sums + 1] = redis.call('ZCARD', key(queue, each))
end
return {'+' .. table.concat(sums, ' '), sums[1], digits(sum), part, rank_, id}
