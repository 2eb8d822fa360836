-- Returns a function that returns the next *n* or fewer ids that can be handed out, in order; none at the end. What it
-- has returned must stay where it is.
local function walk(queue, lifo)
  local pending, at, score = key(queue, 'pending'), 0, nil
  return function(n)
    if not lifo then
      local ids = redis.call('ZRANGE', pending, at, at + n - 1)
      at = at + #ids
      return ids
    end
    local ids = score and redis.call('ZREVRANGEBYSCORE', pending, score, score, 'LIMIT', at, n) or {}
    if #ids == 0 then
      score = redis.call('ZRANGEBYSCORE', pending, score and '(' .. score or '-inf', '+inf', 'WITHSCORES', 'LIMIT', 0, 1)[2]
      if not score then
        return {}
      end
      at = 0
      ids = redis.call('ZREVRANGEBYSCORE', pending, score, score, 'LIMIT', 0, n)
    end
    at = at + #ids
    return ids
  end
end
