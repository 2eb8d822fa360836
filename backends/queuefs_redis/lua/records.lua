-- ARGV: queue, limit, now, when that one finished and its id behind which to begin ('' for the latest). Returns id and
-- record for each, the latest first.
local queue, limit = ARGV[1], tonumber(ARGV[2])
if not known(queue) then
  return '-noqueue'
end
local ends = key(queue, 'ends')
local first = surplus(queue, clock(ARGV[3]))
local at = ARGV[4] ~= '' and rank(ends, ARGV[4], ARGV[5]) or redis.call('ZCARD', ends)
local found = {'+'}
while at > first and #found < 2 * limit do -- again only if a record is lost
  local some, from = {}, math.max(first, at - limit + (#found - 1) / 2)
  append_reversed(some, ends, from, at - 1)
  for i = 1, #some, 2 do
    local text = redis.call('HGET', key(queue, 'done'), some[i])
    if text then
      found[#found + 1] = some[i]
      found[#found + 1] = text
    end
  end
  at = from
end
return found
