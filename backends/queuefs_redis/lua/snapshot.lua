-- uses: common
-- ARGV: queue. Returns the ids set aside, the leases (id, end, ...) and all metas (id, meta, ...).
local queue = ARGV[1]
if not known(queue) then
  return '-noqueue'
end
return {
  redis.call('ZRANGE', key(queue, 'aside'), 0, -1, 'WITHSCORES'),
  redis.call('ZRANGE', key(queue, 'processing'), 0, -1, 'WITHSCORES'),
  redis.call('HGETALL', key(queue, 'meta')),
}
