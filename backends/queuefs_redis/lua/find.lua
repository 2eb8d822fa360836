-- ARGV: parent, name. Returns '' or the queue.
local number = redis.call('HGET', P .. 'children:' .. ARGV[1], ARGV[2])
if not number then
  return '+'
end
return '+' .. described(number, redis.call('HGET', P .. 'queues', number))
