-- uses: once
-- ARGV: queue. Returns 'pending processing'. UNLINK frees in the background: DEL of a million held the server 0.5 s.
-- The keys of what is gone go with it; a publication stays known until its window is over.
if before then
  return before
end
local queue = ARGV[4]
if not known(queue) then
  return '-noqueue'
end
local pending, processing = pending_count(queue), redis.call('ZCARD', key(queue, 'processing'))
for _, id in ipairs(redis.call('SMEMBERS', key(queue, 'big'))) do
  if redis.call('HEXISTS', key(queue, 'staged'), id) == 0 and redis.call('HEXISTS', key(queue, 'dead'), id) == 0 then
    drop_pieces(queue, id)
  end
end
for _, part in ipairs({'pending', 'delayed', 'paused', 'over', 'aside', 'waiting', 'processing', 'held', 'odd', 'expiry',
    'meta', 'body', 'keys'}) do
  redis.call('UNLINK', key(queue, part))
end
redis.call('HDEL', key(queue, 'sums'), 'bytes')
count_unacked(queue, -pending - processing, 0)
for _, what in ipairs({'leases', 'delays', 'lapses'}) do
  redis.call('ZREM', P .. what, queue)
end
tell(queue, 'clear')
return answer(digits(pending) .. ' ' .. digits(processing))
