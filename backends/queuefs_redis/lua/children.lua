-- uses: common
-- ARGV: parent. Returns 'number record' for each.
local found = {'+'}
for _, number in ipairs(redis.call('HVALS', P .. 'children:' .. ARGV[1])) do
  found[#found + 1] = number .. ' ' .. redis.call('HGET', P .. 'queues', number)
end
return found
