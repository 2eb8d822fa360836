-- ARGV: queue, state, limit, rank and id behind which to begin ('' for the first), 1 if the last is first. Returns id,
-- rank, end of the lease ('dead' or '-' where there is none) and meta for each, '' for a meta that is lost.
local queue, state = ARGV[1], ARGV[2]
if not known(queue) then
  return '-noqueue'
end
local members = page_of(queue, state, tonumber(ARGV[3]), ARGV[4], ARGV[5], ARGV[6] == '1')
local found, part = {'+'}, state == 'dead' and 'dead' or 'meta'
for i = 1, #members, 2 do
  local until_ = state == 'dead' and 'dead' or '-'
  if state == 'processing' then
    until_ = digits(tonumber(redis.call('ZSCORE', key(queue, 'processing'), members[i]) or '0'))
  end
  for _, text in ipairs({members[i], members[i + 1], until_, redis.call('HGET', key(queue, part), members[i]) or ''}) do
    found[#found + 1] = text
  end
end
return found
