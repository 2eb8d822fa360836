-- uses: once
-- ARGV: queue, id, record, when it finished, records and time to keep.
if before then
  return before
end
local queue, id = ARGV[4], ARGV[5]
if not known(queue) then
  return '-noqueue'
end
if ARGV[8] ~= '0' and ARGV[9] ~= '0' then
  redis.call('HSET', key(queue, 'done'), id, ARGV[6])
  redis.call('ZADD', key(queue, 'ends'), ARGV[7], id)
  finished, left_some = ARGV[7], true
else
  drop_records(queue, {id})
end
raise('last-id', id)
end_records(queue, ARGV[8], ARGV[9])
tell(queue)
return answer('')
