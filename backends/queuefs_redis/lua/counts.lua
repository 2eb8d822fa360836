-- ARGV: queue. Returns 'pending processing bytes'.
local queue = ARGV[1]
if not known(queue) then
  return '-noqueue'
end
local bytes = redis.call('HGET', key(queue, 'sums'), 'bytes') or '0'
local processing = redis.call('ZCARD', key(queue, 'processing'))
return '+' .. table.concat({digits(pending_count(queue)), digits(processing), bytes}, ' ')
