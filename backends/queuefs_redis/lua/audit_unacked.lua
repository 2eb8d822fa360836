-- ARGV: 1 to put right what is wrong. Returns how many messages are unacknowledged, and how many are counted.
local sum = 0
for _, queue in ipairs(redis.call('HKEYS', P .. 'queues')) do
  sum = sum + pending_count(queue) + redis.call('ZCARD', key(queue, 'processing'))
end
local counted = redis.call('GET', P .. 'unacked') or '0'
if ARGV[1] == '1' and counted ~= digits(sum) then
  go_on_when_full()
  redis.call('SET', P .. 'unacked', digits(sum))
end
return '+' .. digits(sum) .. ' ' .. counted
