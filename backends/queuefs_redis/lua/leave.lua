-- uses: once
-- ARGV: seconds until it is forgotten, now. It closes in order: what it staged and did not settle goes where an adopter
-- would put it, at once. Its answers stay for a while, lest something of it that was held up on its way is carried out
-- again.
if before then
  return before
end
go_on_when_full()
local now = clock(ARGV[5])
for _, id in ipairs(redis.call('HKEYS', P .. 'stages:' .. daemon)) do
  adopt(daemon, id, now)
end
redis.call('ZREM', P .. 'daemons', daemon)
redis.call('HDEL', P .. 'beating', daemon)
redis.call('HDEL', P .. 'places', daemon)
redis.call('EXPIRE', answers, ARGV[4])
if #told == 0 then
  redis.call('PUBLISH', P .. 'did', daemon) -- its own listener ends by it, too
end
return answer('')
