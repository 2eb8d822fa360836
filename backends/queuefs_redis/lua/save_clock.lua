-- uses: once
-- ARGV: a mark of the callers' clock, for stores that go by it.
redis.call('SET', P .. 'clock', ARGV[4])
return answer('')
