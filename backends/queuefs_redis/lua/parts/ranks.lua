-- Of members of a sorted set behind one that may be gone, found by rank: it costs no more in a long one.

-- How many stand before *score* and *id*, and with *is_last* that one itself, too.
local function rank(set, score, id, is_last)
  local first = redis.call('ZCOUNT', set, '-inf', '(' .. score)
  local last = first + redis.call('ZCOUNT', set, score, score)
  while first < last do
    local middle = math.floor((first + last) / 2)
    local member = redis.call('ZRANGE', set, middle, middle)[1]
    if member < id or is_last and member == id then
      first = middle + 1
    else
      last = middle
    end
  end
  return first
end

-- Appends members and scores from rank *from* to *to* to what was found, in the reverse order.
local function append_reversed(found, set, from, to)
  local some = from <= to and redis.call('ZRANGE', set, from, to, 'WITHSCORES') or {}
  for i = #some - 1, 1, -2 do
    found[#found + 1] = some[i]
    found[#found + 1] = some[i + 1]
  end
end

-- Members and scores in turn, *limit* members at most, behind *score* and *id* (from the first without a score); with
-- *lifo*, among those of a score the last is first.
local function behind(set, limit, score, id, lifo)
  if not lifo then
    local at = score and rank(set, score, id, true) or 0
    return redis.call('ZRANGE', set, at, at + limit - 1, 'WITHSCORES')
  end
  local found, first, at = {}, 0, 0 -- the first of this score, and the one behind those of it that are left
  if score then
    first, at = redis.call('ZCOUNT', set, '-inf', '(' .. score), rank(set, score, id)
  end
  while #found < 2 * limit do
    if at == first then
      first = score and redis.call('ZCOUNT', set, '-inf', score) or 0
      score = redis.call('ZRANGE', set, first, first, 'WITHSCORES')[2]
      if not score then
        break
      end
      at = redis.call('ZCOUNT', set, '-inf', score)
    end
    local from = math.max(first, at - limit + #found / 2)
    append_reversed(found, set, from, at - 1)
    at = from
  end
  return found
end
