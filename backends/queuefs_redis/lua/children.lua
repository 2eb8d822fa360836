-- ARGV: parent. Returns each queue.
local found = {'+'}
for _, number in ipairs(redis.call('HVALS', P .. 'children:' .. ARGV[1])) do
  found[#found + 1] = described(number, redis.call('HGET', P .. 'queues', number))
end
return found
