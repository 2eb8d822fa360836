-- uses: common
-- ARGV: parent, name. Returns '' or 'number record'.
local number = redis.call('HGET', P .. 'children:' .. ARGV[1], ARGV[2])
if not number then
  return '+'
end
return '+' .. number .. ' ' .. redis.call('HGET', P .. 'queues', number)
