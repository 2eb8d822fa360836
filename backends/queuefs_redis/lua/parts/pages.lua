-- Of pages of messages, which begin behind a rank and an id; *rank_* is '' for the first.
local function is_before(rank_, id, other_rank, other_id, lifo)
  rank_, other_rank = tonumber(rank_), tonumber(other_rank)
  if rank_ ~= other_rank then
    return rank_ < other_rank
  end
  return (id < other_id) ~= lifo
end

-- What can be handed out and what is waiting, as one.
local function pending_page(queue, limit, rank_, id, lifo)
  local ready = behind(key(queue, 'pending'), limit, rank_, id, lifo)
  local other = behind(key(queue, 'waiting'), limit, rank_, id, lifo)
  local found, i, j = {}, 1, 1
  for at = 1, math.min(2 * limit, #ready + #other), 2 do
    if not other[j] or ready[i] and is_before(ready[i + 1], ready[i], other[j + 1], other[j], lifo) then
      found[at], found[at + 1] = ready[i], ready[i + 1]
      i = i + 2
    else
      found[at], found[at + 1] = other[j], other[j + 1]
      j = j + 2
    end
  end
  return found
end

local function dead_page(queue, limit, first)
  local found = {}
  for i, id in ipairs(redis.call('ZRANGEBYLEX', key(queue, 'graves'), first, '+', 'LIMIT', 0, limit)) do
    local priority = string.match(redis.call('HGET', key(queue, 'dead'), id) or '', '^%S+ (%S+)') or '0'
    found[2 * i - 1], found[2 * i] = id, digits(0 - priority)
  end
  return found
end

-- Ids and ranks in turn.
local function page_of(queue, state, limit, rank_, id, lifo)
  local begin = rank_ ~= '' and rank_ or nil
  if state == 'dead' then
    return dead_page(queue, limit, begin and '(' .. id or '-')
  elseif state == 'pending' then
    return pending_page(queue, limit, begin, id, lifo)
  end
  return behind(key(queue, 'held'), limit, begin, id)
end
