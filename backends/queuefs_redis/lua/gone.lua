-- ARGV: daemons whose processes are known to have ended; they are dead without having been silent.
go_on_when_full()
for _, daemon in ipairs(ARGV) do
  redis.call('ZADD', P .. 'daemons', 'XX', 0, daemon)
end
return '+'
