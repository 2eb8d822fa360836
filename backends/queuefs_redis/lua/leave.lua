-- uses: common, keys, messages, publishing
-- ARGV: daemon, now. It closes in order: what it staged and did not settle goes where an adopter would put it, at once.
go_on_when_full()
local owner, now = ARGV[1], clock(ARGV[2])
for _, id in ipairs(redis.call('HKEYS', P .. 'stages:' .. owner)) do
  adopt(owner, id, now)
end
redis.call('ZREM', P .. 'daemons', owner)
redis.call('HDEL', P .. 'beating', owner)
redis.call('HDEL', P .. 'places', owner)
redis.call('UNLINK', P .. 'answers:' .. owner)
redis.call('PUBLISH', P .. 'did', owner .. '\n' .. table.concat(told, '\n')) -- its own listener ends by it, too
return '+'
