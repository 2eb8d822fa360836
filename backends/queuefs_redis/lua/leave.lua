-- uses: common, pending, publishing
-- ARGV: daemon. It closes in order: what it staged and did not settle goes where an adopter would put it, at once.
go_on_when_full()
local owner = ARGV[1]
for _, id in ipairs(redis.call('HKEYS', P .. 'stages:' .. owner)) do
  adopt(owner, id, redis.call('HGET', P .. 'stages:' .. owner, id))
end
redis.call('ZREM', P .. 'daemons', owner)
redis.call('HDEL', P .. 'beating', owner)
redis.call('UNLINK', P .. 'answers:' .. owner)
return '+'
