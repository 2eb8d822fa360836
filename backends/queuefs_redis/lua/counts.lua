-- uses: common
-- ARGV: queue. Returns 'pending processing bytes'.
local queue = ARGV[1]
if not known(queue) then
  return '-noqueue'
end
local pending = redis.call('ZCARD', key(queue, 'pending')) + redis.call('ZCARD', key(queue, 'aside'))
local bytes = redis.call('HGET', P .. 'bytes', queue) or '0'
return '+' .. table.concat({digits(pending), digits(redis.call('ZCARD', key(queue, 'processing'))), bytes}, ' ')
