-- uses: common
-- ARGV: queue. Returns all that is kept of it.
local queue = ARGV[1]
return {
  redis.call('ZRANGE', key(queue, 'pending'), 0, -1, 'WITHSCORES'),
  redis.call('ZRANGE', key(queue, 'aside'), 0, -1, 'WITHSCORES'),
  redis.call('ZRANGE', key(queue, 'processing'), 0, -1, 'WITHSCORES'),
  redis.call('HGETALL', key(queue, 'meta')),
  redis.call('HGETALL', key(queue, 'body')),
  redis.call('HGETALL', key(queue, 'staged')),
}
