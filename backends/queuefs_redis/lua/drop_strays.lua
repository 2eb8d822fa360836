-- ARGV: a queue that there was not, 1 to put right what can be, then parts that were kept of it. Drops them, unless
-- messages are among them, and returns whether it did, as 1 or 0; 2 if there is nothing wrong any more.
local queue, there = ARGV[1], 0
for i = 3, #ARGV do
  there = there + redis.call('EXISTS', key(queue, ARGV[i]))
end
if known(queue) or there == 0 then
  return '+2'
end
for _, part in ipairs({'meta', 'dead', 'pending', 'waiting', 'processing', 'staged'}) do
  if redis.call('EXISTS', key(queue, part)) == 1 then
    return '+0'
  end
end
for i = 3, #ARGV do
  if ARGV[2] == '1' then
    redis.call('UNLINK', key(queue, ARGV[i]))
  end
end
return '+' .. ARGV[2]
