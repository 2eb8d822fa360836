-- uses: common
-- ARGV: queue. Returns all that is kept of it.
local found = {}
for _, part in ipairs({'pending', 'delayed', 'paused', 'over', 'aside', 'processing', 'odd', 'expiry', 'windows'}) do
  found[#found + 1] = redis.call('ZRANGE', key(ARGV[1], part), 0, -1, 'WITHSCORES')
end
for _, part in ipairs({'meta', 'body', 'dead', 'remains', 'staged', 'keys', 'published', 'sums'}) do
  found[#found + 1] = redis.call('HGETALL', key(ARGV[1], part))
end
return found
