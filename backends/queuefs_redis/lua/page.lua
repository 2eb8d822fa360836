-- ARGV: queue, state, limit, rank and id behind which to begin ('' for the first), 1 if the last is first. Returns id,
-- rank, end of the lease ('dead' or '-' where there is none) and meta for each, '' for a meta that is lost.
local queue, state, limit, score, after = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4], ARGV[5]
if not known(queue) then
  return '-noqueue'
end
local begin = score ~= '' and score or nil
local found = {'+'}

local function add(id, rank_, until_, part)
  for _, text in ipairs({id, rank_, until_, redis.call('HGET', key(queue, part), id) or ''}) do
    found[#found + 1] = text
  end
end

local function is_before(rank_, id, other_rank, other_id, lifo)
  rank_, other_rank = tonumber(rank_), tonumber(other_rank)
  if rank_ ~= other_rank then
    return rank_ < other_rank
  end
  return (id < other_id) ~= lifo
end

local function add_pending(lifo)
  local ready = behind(key(queue, 'pending'), limit, begin, after, lifo)
  local other = behind(key(queue, 'waiting'), limit, begin, after, lifo)
  local i, j = 1, 1
  for _ = 1, math.min(limit, (#ready + #other) / 2) do
    if not other[j] or ready[i] and is_before(ready[i + 1], ready[i], other[j + 1], other[j], lifo) then
      add(ready[i], ready[i + 1], '-', 'meta')
      i = i + 2
    else
      add(other[j], other[j + 1], '-', 'meta')
      j = j + 2
    end
  end
end

if state == 'pending' then
  add_pending(ARGV[6] == '1')
elseif state == 'processing' then
  local held = behind(key(queue, 'held'), limit, begin, after)
  for i = 1, #held, 2 do
    local until_ = redis.call('ZSCORE', key(queue, 'processing'), held[i])
    add(held[i], held[i + 1], until_ and digits(tonumber(until_)) or '0', 'meta')
  end
else
  local first = begin and '(' .. after or '-'
  for _, id in ipairs(redis.call('ZRANGEBYLEX', key(queue, 'graves'), first, '+', 'LIMIT', 0, limit)) do
    add(id, '0', 'dead', 'dead')
  end
end
return found
