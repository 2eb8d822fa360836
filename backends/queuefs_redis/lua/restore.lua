-- uses: once
-- ARGV: queue, id, state, end of the lease, then what its meta has (enqueued, priority, attempt, claims, claimed, due,
-- expires, flag, size of its key, size of its reason, and key, reason and extra).
if before then
  return before
end
local queue, id, state = ARGV[4], ARGV[5], ARGV[6]
if not known(queue) then
  return '-noqueue'
end
local s = read_stage(daemon, id)
if s.queue ~= queue then
  return '-nomessage'
end
local m = meta_of_staged(daemon, id, s, state == 'dead' and 'remains' or 'body')
for i, field in ipairs({'enqueued', 'priority', 'attempt', 'claims', 'claimed', 'due', 'expires', 'flag', 'key_size',
    'reason_size', 'rest'}) do
  m[field] = ARGV[i + 7]
end
count(queue, 'enqueued', 1)
if state == 'dead' then
  write_meta('dead', queue, id, m)
  redis.call('ZADD', key(queue, 'graves'), 0, id)
  tell(queue)
  return answer('')
end
write_meta('meta', queue, id, m)
count_unacked(queue, 1, tonumber(m.size))
if m.key_size ~= '-' then
  hold(queue, key_of(m), id)
end
if state == 'processing' then
  hold_message(queue, id, ARGV[7], rank_of(m))
  note('leases', queue, ARGV[7])
  tell(queue)
else
  make_pending(queue, id, m)
  tell(queue, 'publish', {id})
end
return answer('')
