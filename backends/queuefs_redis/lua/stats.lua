-- ARGV: queue, 1 if the server's clock counts. Returns pending, processing, bytes; delayed, paused, dead, done; five
-- totals and buried; and when the oldest pending message was enqueued, or '-'.
local queue = ARGV[1]
if not known(queue) then
  return '-noqueue'
end
local function card(part)
  return redis.call('ZCARD', key(queue, part))
end
local sums = redis.call('HMGET', key(queue, 'sums'), 'bytes', 'enqueued', 'dequeued', 'acked', 'nacked', 'expired',
  'buried')
-- What of delays and of records is over the callers' clock may know, and the next claim or round of upkeep sees.
local now = ARGV[2] == '1' and digits(clock('')) or '0'
local delayed = redis.call('ZCOUNT', key(queue, 'delayed'), '(' .. now, '+inf')
local done = card('ends') - surplus(queue, now)
local oldest = '-'
for _, id in ipairs({redis.call('ZRANGEBYSCORE', key(queue, 'pending'), 0, 0, 'LIMIT', 0, 1)[1] or false,
    redis.call('ZRANGE', key(queue, 'odd'), 0, 0)[1] or false}) do
  local m = id and meta_of(queue, id)
  if m and (oldest == '-' or tonumber(m.enqueued) < tonumber(oldest)) then
    oldest = m.enqueued
  end
end
local found = {digits(pending_count(queue)), digits(card('processing')), sums[1] or '0', digits(delayed),
  digits(card('paused')), digits(redis.call('HLEN', key(queue, 'dead'))), digits(done)}
for i = 2, 7 do
  found[#found + 1] = sums[i] or '0'
end
return '+' .. table.concat(found, ' ') .. ' ' .. oldest
