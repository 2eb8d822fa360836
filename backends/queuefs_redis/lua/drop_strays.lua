-- ARGV: a queue that there was not, then parts that are kept of it. Drops them, unless messages are among them, and
-- returns whether it did, as 1 or 0; 2 if the queue was made meanwhile.
local queue = ARGV[1]
if known(queue) then
  return '+2'
end
for _, part in ipairs({'meta', 'dead', 'pending', 'waiting', 'processing', 'staged'}) do
  if redis.call('EXISTS', key(queue, part)) == 1 then
    return '+0'
  end
end
for i = 2, #ARGV do
  redis.call('UNLINK', key(queue, ARGV[i]))
end
return '+1'
