-- uses: once
-- ARGV: queue, what to add to the sum that is kept of the sizes of its messages.
if before then
  return before
end
go_on_when_full()
redis.call('HINCRBY', key(ARGV[4], 'sums'), 'bytes', ARGV[5])
return answer('')
