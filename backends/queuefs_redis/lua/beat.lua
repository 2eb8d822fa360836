-- ARGV: daemon, now, after which silence a daemon is dead, where this one runs. Notes that it lives, and since when
-- without a gap. Returns each daemon and where it runs.
go_on_when_full()
local now = clock(ARGV[2])
local last = redis.call('ZSCORE', P .. 'daemons', ARGV[1])
if not last or now - last >= tonumber(ARGV[3]) then
  redis.call('HSET', P .. 'beating', ARGV[1], digits(now))
else
  redis.call('HSETNX', P .. 'beating', ARGV[1], digits(now))
end
redis.call('ZADD', P .. 'daemons', digits(now), ARGV[1])
redis.call('HSET', P .. 'places', ARGV[1], ARGV[4])
local found = redis.call('HGETALL', P .. 'places')
table.insert(found, 1, '+')
return found
